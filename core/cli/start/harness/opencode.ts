/** opencode, as `svc start opencode` runs it. */
import { join } from 'node:path';
import { isObject, parseJson } from '../../../parse-json.ts';
import type { ProviderId } from '../../../provider/provider-ids.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { otherAddress } from './provider-address.ts';
import { jsonSettings, memberOf, textOf } from './read-settings.ts';

export const opencode: StartedHarness = { command: 'opencode', name: 'opencode', harnessId: 'opencode', launch };

const CONFIG = 'OPENCODE_CONFIG_CONTENT';

/** Its providers that are recorded: the path of their base URL on the proxy, and the variables that hold their key. */
const PROVIDERS: readonly { id: string; provider: ProviderId; path: string; keys: readonly string[] }[] = [
  { id: 'anthropic', provider: 'anthropic', path: '/anthropic/v1', keys: ['ANTHROPIC_API_KEY'] },
  { id: 'openai', provider: 'openai', path: '/openai/v1', keys: ['OPENAI_API_KEY'] },
  {
    ...{ id: 'google', provider: 'gemini', path: '/gemini/v1beta' },
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  },
];

/** Configuration in a variable is laid over that in files; only providers that it has anyway are named, since naming one adds it. */
function launch(context: StartContext): Launch | Unrecorded {
  const { proxy, env, home, cwd, envelope } = context;
  const ownConfig = env[CONFIG] ? parsedConfig(env[CONFIG]) : {};
  if (ownConfig === null)
    return { unrecorded: `${CONFIG} is set, and is not plain JSON, to which svc could add its address` };
  const files = configFiles(context).map((file) => [file, jsonSettings(file)] as const);
  const configs = [...files, [CONFIG, ownConfig] as const];
  const auth = jsonSettings(join(env.XDG_DATA_HOME || join(home, '.local/share'), 'opencode/auth.json'));
  const remarks: string[] = [];
  const provider: Record<string, unknown> = {};
  for (const { id, provider: ours, path, keys } of PROVIDERS) {
    const login = textOf(memberOf(auth, id, 'type'));
    const isConfigured = configs.some(([, config]) => memberOf(config, 'provider', id) !== undefined);
    if (login === '' && !isConfigured && !keys.some((key) => env[key])) continue;
    const other = configs
      .map(([where, config]) =>
        otherAddress(
          `provider.${id}.options.baseURL in ${where}`,
          textOf(memberOf(config, 'provider', id, 'options', 'baseURL')).replace(/\/v1(?:beta)?\/?$/, ''),
          ours,
          context,
        ),
      )
      .find((reason) => reason !== null);
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

function configFiles({ env, home, cwd }: StartContext): string[] {
  const own = join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');
  const names = ['opencode.json', 'opencode.jsonc'];
  return [
    ...names.map((name) => join(own, name)),
    ...(env.OPENCODE_CONFIG ? [env.OPENCODE_CONFIG] : []),
    ...names.map((name) => join(cwd, name)),
  ];
}

function parsedConfig(text: string): Record<string, unknown> | null {
  try {
    const config: unknown = parseJson(text);
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
