/** opencode, as `svc start opencode` runs it. */
import { join } from 'node:path';
import { isObject } from '../../../parse-json.ts';
import type { ProviderId } from '../../../provider/provider-ids.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { parseJsonWithComments } from './json-with-comments.ts';
import { managedOpencodeFiles, opencodeFiles } from './opencode-settings.ts';
import { otherAddress } from './provider-address.ts';
import { jsonSettings, memberOf, textOf } from './read-settings.ts';

export const opencode: StartedHarness = { command: 'opencode', name: 'opencode', harnessId: 'opencode', launch };

const CONFIG = 'OPENCODE_CONFIG_CONTENT';

/**
 * Its providers that are recorded: the path of their base URL on the proxy, the variables that hold their key, and the one from which the
 * provider's library takes an address where no setting names one.
 */
const PROVIDERS: readonly RecordedProvider[] = [
  {
    ...{ id: 'anthropic', provider: 'anthropic', path: '/anthropic/v1' },
    ...{ keys: ['ANTHROPIC_API_KEY'], variable: 'ANTHROPIC_BASE_URL' },
  },
  {
    ...{ id: 'openai', provider: 'openai', path: '/openai/v1' },
    ...{ keys: ['OPENAI_API_KEY'], variable: 'OPENAI_BASE_URL' },
  },
  {
    ...{ id: 'google', provider: 'gemini', path: '/gemini/v1beta' },
    ...{ keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'], variable: null },
  },
];

type RecordedProvider = {
  id: string;
  provider: ProviderId;
  path: string;
  keys: readonly string[];
  variable: string | null;
};
type Config = { where: string; settings: Record<string, unknown> };

/** Configuration in a variable is laid over that in files; only providers that it has anyway are named, since naming one adds it. */
function launch(context: StartContext): Launch | Unrecorded {
  const { proxy, env, home, cwd, envelope } = context;
  const ownConfig = env[CONFIG] ? parsedConfig(env[CONFIG]) : {};
  if (ownConfig === null)
    return { unrecorded: `${CONFIG} is set, and is not plain JSON, to which svc could add its address` };
  const configs = configsOf(context, ownConfig);
  const auth = jsonSettings(join(env.XDG_DATA_HOME || join(home, '.local/share'), 'opencode/auth.json'));
  if (Object.keys(auth).some((key) => memberOf(auth, key, 'type') === 'wellknown'))
    return {
      unrecorded: 'it has settings from its organization, which svc does not read, and which may name an address',
    };
  const remarks: string[] = [];
  const provider: Record<string, unknown> = {};
  for (const one of PROVIDERS) {
    const { id, path, keys } = one;
    const login = textOf(memberOf(auth, id, 'type'));
    const isConfigured = configs.some(({ settings }) => memberOf(settings, 'provider', id) !== undefined);
    if (login === '' && !isConfigured && !keys.some((key) => env[key])) continue;
    const other = ownAddress(one, configs, context);
    if (login === 'oauth')
      remarks.push(`Not recorded: opencode's calls to ${id}, since that login sends them to an address of its own`);
    else if (other) remarks.push(`Not recorded: opencode's calls to ${id}: ${other}`);
    else provider[id] = { options: { baseURL: proxy + path, headers: { ...envelope } } };
  }
  if (Object.keys(provider).length === 0)
    return {
      unrecorded: remarks[0]?.replace(/^Not recorded: /, '') ?? `${cwd} has no provider for it that svc records`,
    };
  return { env: { [CONFIG]: JSON.stringify(merged(ownConfig, { provider })) }, args: [], hasEnvelope: true, remarks };
}

/** In the order in which opencode lays them over one another, the strongest last. */
function configsOf(context: StartContext, ownConfig: Record<string, unknown>): Config[] {
  const read = (where: string): Config => ({ where, settings: jsonSettings(where) });
  return [
    ...opencodeFiles(context).map(read),
    { where: CONFIG, settings: ownConfig },
    ...managedOpencodeFiles(context.env).map(read),
  ];
}

/** Why the address that counts for a provider may not be replaced. Null: it may, or there is none. */
function ownAddress({ id, provider, variable }: RecordedProvider, configs: readonly Config[], context: StartContext) {
  for (const member of ['options.baseURL', 'api']) {
    const addressIn = ({ settings }: Config) => textOf(memberOf(settings, 'provider', id, ...member.split('.')));
    const found = configs.findLast((config) => addressIn(config) !== '');
    if (!found) continue;
    const where = `provider.${id}.${member} in ${found.where}`;
    const isFixed = member === 'options.baseURL' && managedOpencodeFiles(context.env).includes(found.where);
    return (
      otherAddress(where, bare(addressIn(found)), provider, context) ??
      (isFixed ? `${where} outranks what svc sets` : null)
    );
  }
  return variable && otherAddress(variable, bare(context.env[variable] ?? ''), provider, context);
}

const bare = (address: string) => address.replace(/\/v1(?:beta)?\/?$/, '');

function parsedConfig(text: string): Record<string, unknown> | null {
  try {
    const config = parseJsonWithComments(text);
    return isObject(config) ? config : null;
  } catch {
    return null;
  }
}

function merged(under: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
  const result = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const before = result[name];
    result[name] = isObject(before) && isObject(value) ? merged(before, value) : value;
  }
  return result;
}
