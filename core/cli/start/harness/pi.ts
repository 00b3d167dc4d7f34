/** pi, as `svc start pi` runs it: an extension in a temporary file replaces its providers' addresses. */
import { join } from 'node:path';
import type { ProviderId } from '../../../provider/provider-ids.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { otherAddress } from './provider-address.ts';
import { jsonSettings, memberOf, textOf } from './read-settings.ts';

export const pi: StartedHarness = { command: 'pi', name: 'pi', harnessId: 'pi', launch };

/** Its providers that are recorded, and the path of their base URL on the proxy. */
const PROVIDERS: readonly { id: string; provider: ProviderId; path: string }[] = [
  { id: 'anthropic', provider: 'anthropic', path: '/anthropic' },
  { id: 'openai', provider: 'openai', path: '/openai/v1' },
  { id: 'google', provider: 'gemini', path: '/gemini/v1beta' },
];

/** Its other logins are providers of other names, and stay as they are. */
function launch(context: StartContext): Launch | Unrecorded {
  const { proxy, env, home, envelope, writeFile } = context;
  const models = join(env.PI_CODING_AGENT_DIR || join(home, '.pi/agent'), 'models.json');
  const configured = jsonSettings(models);
  const remarks: string[] = [];
  const addresses = PROVIDERS.flatMap(({ id, provider, path }) => {
    const other = ownAddresses(configured, id)
      .map((address) =>
        otherAddress(`baseUrl of ${id} in ${models}`, address.replace(/\/v1beta\/?$/, ''), provider, context),
      )
      .find((reason) => reason !== null);
    if (other) {
      remarks.push(`Not recorded: pi's calls to ${id}: ${other}`);
      return [];
    }
    return [[id, proxy + path]];
  });
  if (addresses.length === 0) return { unrecorded: remarks[0]?.replace(/^Not recorded: /, '') ?? '' };
  const extension = extensionOf(addresses, { 'x-svc-harness-id': 'pi', ...envelope });
  return { env: {}, args: ['--extension', writeFile('svc.js', extension)], hasEnvelope: true, remarks };
}

/** Of the provider, and of single models, for which the extension's would count as well. */
function ownAddresses(configured: Record<string, unknown>, id: string): string[] {
  const own = memberOf(configured, 'providers', id);
  const models = memberOf(own, 'models');
  return [own, ...(Array.isArray(models) ? models : [])].map((entry) => textOf(memberOf(entry, 'baseUrl')));
}

/** It names the session as well, which pi itself does not; each session that a person changes to is a new start of the extension. */
const extensionOf = (addresses: readonly string[][], headers: Readonly<Record<string, string>>) => `
const addresses = ${JSON.stringify(addresses)};
const headers = ${JSON.stringify(headers)};

export default function (pi) {
  const register = (more) => {
    for (const [id, baseUrl] of addresses) pi.registerProvider(id, { baseUrl, headers: { ...headers, ...more } });
  };
  register({});
  pi.on('session_start', (_event, context) => {
    const id = context.sessionManager?.getSessionId?.();
    if (id) register({ 'x-svc-harness-session-id': id });
  });
}
`;
