/** Codex, as `svc start codex` runs it. */
import { realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { baseAt } from '../../../http/whose-call.ts';
import { isObject } from '../../../parse-json.ts';
import { firstRecords } from '../../sync/read-lines.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { optionValue } from './option-value.ts';
import { otherAddress } from './provider-address.ts';
import { jsonSettings, memberOf, textOf, tomlSettings } from './read-settings.ts';

export const codex: StartedHarness = {
  ...{ command: 'codex', name: 'Codex', harnessId: 'codex', launch },
  isOwnTranscript,
};

/** Its folders are those of days, with the files of all its runs: the first record of one says where its thread runs. */
async function isOwnTranscript(path: string, { cwd, args }: Pick<StartContext, 'cwd' | 'args'>): Promise<boolean> {
  const { size, mtimeMs } = await stat(path);
  const [first = {}] = await firstRecords({ path, bytes: size, mtimeMs }, 1);
  const folder = textOf(memberOf(first.payload, 'cwd'));
  return folder !== '' && realPath(folder) === realPath(resolve(cwd, optionValue(args, ['--cd', '-C']) ?? ''));
}

function realPath(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder; // it is gone
  }
}

/**
 * With a key that it has stored, or in CODEX_API_KEY, only its own provider's address is replaced, so that sessions, WebSocket and all else
 * stay as they are. A key in OPENAI_API_KEY alone it reads for a provider of one's own.
 */
function launch(context: StartContext): Launch | Unrecorded {
  const { proxy, env, args, home } = context;
  const folder = env.CODEX_HOME || join(home, '.codex');
  const base = baseAt(proxy, 'openai');
  const own = ownProvider(context, configOf(folder, args));
  if (own) return own;
  if (
    args.some((arg) => /^(?:--oss|--local-provider)$|^(?:-c|--config)?=?"?(?:model_provider|profile)(?:=|$)/.test(arg))
  )
    return { unrecorded: 'its arguments choose a provider of their own' };
  const login = loginOf(folder, context);
  if (login === 'chatgpt')
    return { unrecorded: 'Codex is logged in with ChatGPT, whose calls go to an address of their own; a key would do' };
  const settings = login === 'key' ? [['openai_base_url', base] as const] : providerSettings(base);
  return {
    env: {},
    args: settings.flatMap(([key, value]) => ['-c', `${key}=${toml(value)}`]),
    hasEnvelope: false, // its headers would replace what its calls state about their threads
    remarks: [],
  };
}

/**
 * With the profile that the arguments or, of older versions, the configuration choose: a table of the file, or a file of its own
 * beside it, laid over it.
 */
function configOf(folder: string, args: readonly string[]): Record<string, unknown> {
  const config = tomlSettings(join(folder, 'config.toml'));
  const argument = optionValue(args, ['--profile', '-p']) ?? '';
  const table = memberOf(config, 'profiles', argument || textOf(config.profile));
  const file = argument === '' ? {} : tomlSettings(join(folder, `${argument}.config.toml`));
  const providers = [config, file].map(({ model_providers: own }) => (isObject(own) ? own : {}));
  return {
    ...{ ...config, ...(isObject(table) && table), ...file },
    model_providers: Object.assign({}, ...providers),
  };
}

/** A provider that its configuration chooses is respected; null: it chooses none. */
function ownProvider(context: StartContext, config: Record<string, unknown>): Launch | Unrecorded | null {
  const chosen = textOf(config.model_provider);
  if (chosen === '' || chosen === 'openai') {
    const unrecorded = otherAddress('openai_base_url', textOf(config.openai_base_url), 'openai', context);
    return unrecorded === null ? null : { unrecorded };
  }
  const address = textOf(memberOf(config, 'model_providers', chosen, 'base_url'));
  if (address === '') return { unrecorded: `its configuration chooses the provider '${chosen}'` };
  const unrecorded = otherAddress(`base_url of its provider '${chosen}'`, address, 'openai', context);
  if (unrecorded) return { unrecorded };
  return {
    env: {},
    args: ['-c', `model_providers.${chosen}.base_url=${toml(baseAt(context.proxy, 'openai'))}`],
    hasEnvelope: false,
    remarks: [],
  };
}

function loginOf(folder: string, { env }: StartContext): 'key' | 'chatgpt' | 'none' {
  const auth = jsonSettings(join(folder, 'auth.json'));
  if (env.CODEX_API_KEY) return 'key';
  if (textOf(auth.OPENAI_API_KEY) !== '' && auth.auth_mode !== 'chatgpt') return 'key';
  if (memberOf(auth, 'tokens', 'access_token') !== undefined || auth.auth_mode === 'chatgpt') return 'chatgpt';
  return env.OPENAI_API_KEY ? 'none' : 'key'; // without any it says itself how to log in
}

const providerSettings = (base: string) =>
  [
    ['model_provider', 'svc'],
    ['model_providers.svc.name', 'svc'],
    ['model_providers.svc.base_url', base],
    ['model_providers.svc.wire_api', 'responses'],
    ['model_providers.svc.env_key', 'OPENAI_API_KEY'],
    ['model_providers.svc.supports_websockets', true], // as its own provider does
  ] as const;

/** JSON's strings are TOML's as well. */
const toml = (value: string | boolean) => JSON.stringify(value);
