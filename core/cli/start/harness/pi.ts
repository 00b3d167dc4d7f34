/** pi, as `svc start pi` runs it: an extension in a temporary file replaces its providers' addresses. */
import { join } from 'node:path';
import type { ProviderId } from '../../../provider/providers.ts';
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
  const headers = { 'x-svc-harness-id': 'pi', ...envelope };
  const lines = PROVIDERS.flatMap(({ id, provider, path }) => {
    const address = textOf(memberOf(configured, 'providers', id, 'baseUrl'));
    const other = otherAddress(`baseUrl of ${id} in ${models}`, address.replace(/\/v1beta\/?$/, ''), provider, context);
    if (other) {
      remarks.push(`Not recorded: pi's calls to ${id}: ${other}`);
      return [];
    }
    return [`  pi.registerProvider(${JSON.stringify(id)}, ${JSON.stringify({ baseUrl: proxy + path, headers })});`];
  });
  const extension = `export default function (pi) {\n${lines.join('\n')}\n}\n`;
  return { env: {}, args: ['--extension', writeFile('svc.js', extension)], hasEnvelope: true, remarks };
}
