/** Gemini CLI, as `svc start gemini` runs it. */
import { dirname, join, resolve } from 'node:path';
import type { Environment } from '../../../config/environment.ts';
import { baseAt } from '../../../http/whose-call.ts';
import { geminiEnvFile } from './gemini-env-file.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { otherAddress } from './provider-address.ts';
import { jsonSettings, memberOf, textOf } from './read-settings.ts';

export const gemini: StartedHarness = { command: 'gemini', name: 'Gemini CLI', harnessId: 'gemini-cli', launch };

const BASE = 'GOOGLE_GEMINI_BASE_URL';
const HEADERS = 'GEMINI_CLI_CUSTOM_HEADERS';

/** How it logs in, as its settings name it, where that leads past the Gemini API. */
const OTHER_WAYS: Readonly<Record<string, string>> = {
  'oauth-personal':
    'it is logged in with Google, whose calls go to an address of their own; a key in GEMINI_API_KEY would do',
  'cloud-shell': "it uses Cloud Shell's login, whose calls go to an address of their own",
  'compute-default-credentials': "it uses the machine's login, whose calls go to an address of their own",
  'vertex-ai': 'it calls Google Vertex AI, which svc does not record',
};

/** What its `.env` file sets counts as if it stood in the environment, which would outrank the file. */
function launch(context: StartContext): Launch | Unrecorded {
  const { proxy, envelope } = context;
  const settings = settingsOf(context);
  const home = homeOf(context);
  const ignoring = settings.map((own) => memberOf(own, 'advanced', 'ignoreLocalEnv'));
  const ignoresLocal = ignoring.find((value) => value !== undefined) === true;
  const file = geminiEnvFile({ ...context, home, ignoresLocal });
  const env = { ...file?.env, ...context.env };
  const login = loginOf(settings, env);
  const where = context.env[BASE] === undefined && file ? `${BASE} in ${file.path}` : BASE;
  const unrecorded = OTHER_WAYS[login] ?? otherAddress(where, env[BASE], 'gemini', context);
  if (unrecorded) return { unrecorded };
  // it then takes any base URL for that of a gateway, and refuses to run without a choice
  if (login === '')
    return {
      unrecorded: "its settings choose no login; choose the API key once, with '/auth' in it, and it is recorded",
    };
  const headers = { 'x-svc-harness-id': 'gemini-cli', ...envelope };
  const added = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return {
    env: {
      [BASE]: baseAt(proxy, 'gemini'),
      [HEADERS]: [...(env[HEADERS] ? [env[HEADERS]] : []), ...added].join(', '),
    },
    args: [],
    hasEnvelope: true,
    remarks: [],
  };
}

const homeOf = ({ env, home }: StartContext) => env.GEMINI_CLI_HOME || home;

/** The strongest first: those of the administrator, the project, the person, and the administrator's defaults. */
function settingsOf(context: StartContext): Record<string, unknown>[] {
  const { env, cwd } = context;
  const system =
    env.GEMINI_CLI_SYSTEM_SETTINGS_PATH || SYSTEM_SETTINGS[process.platform] || '/etc/gemini-cli/settings.json';
  const defaults = env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH || join(dirname(system), 'system-defaults.json');
  const own = [cwd, homeOf(context)].map((folder) => join(folder, '.gemini/settings.json'));
  return [system, ...own, defaults].map((path) => jsonSettings(resolve(cwd, path)));
}

const SYSTEM_SETTINGS: Partial<Record<NodeJS.Platform, string>> = {
  darwin: '/Library/Application Support/GeminiCli/settings.json',
  win32: 'C:\\ProgramData\\gemini-cli\\settings.json',
};

/** '' where neither its settings nor a variable chooses. */
function loginOf(settings: readonly Record<string, unknown>[], env: Environment): string {
  const selected = settings
    .map((own) => textOf(memberOf(own, 'security', 'auth', 'selectedType')))
    .find((type) => type !== '');
  if (selected) return selected;
  if (env.GOOGLE_GENAI_USE_GCA === 'true') return 'oauth-personal';
  return env.GOOGLE_GENAI_USE_VERTEXAI === 'true' ? 'vertex-ai' : '';
}
