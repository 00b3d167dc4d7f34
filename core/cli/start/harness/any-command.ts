/** Any other command, as `svc start` runs it: with the variables by which the providers' libraries find their address. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '../../../config/environment.ts';
import { baseAt } from '../../../http/whose-call.ts';
import type { ProviderId } from '../../../provider/provider-ids.ts';
import { foldersInRepository } from './folders-up.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { otherAddress } from './provider-address.ts';
import { settingsText } from './read-settings.ts';

const VARIABLES: readonly (readonly [variable: string, provider: ProviderId])[] = [
  ['ANTHROPIC_BASE_URL', 'anthropic'],
  ['OPENAI_BASE_URL', 'openai'],
  ['OPENAI_API_BASE', 'openai'], // of older libraries, and of some tools
  ['GOOGLE_GEMINI_BASE_URL', 'gemini'],
  ['OLLAMA_HOST', 'ollama'],
];

export const anyCommand = (command: string): StartedHarness => ({ command, name: command, harnessId: null, launch });

/** What a `.env` file sets counts as if it stood in the environment, which outranks the file: so the libraries that load one do it. */
function launch(context: StartContext): Launch | Unrecorded {
  const files = envFiles(context);
  const env: Record<string, string> = {};
  const remarks: string[] = [];
  for (const [variable, provider] of VARIABLES) {
    const file = context.env[variable] === undefined && files.find((one) => one.env[variable] !== undefined);
    const [where, value] = file
      ? [`${variable} in ${file.path}`, file.env[variable]]
      : [variable, context.env[variable]];
    const other = otherAddress(where, value, provider, context);
    if (other === null) env[variable] = baseAt(context.proxy, provider);
    else remarks.push(`Not recorded: calls to the address in ${variable}: ${other}`);
  }
  if (Object.keys(env).length === 0) return { unrecorded: 'each variable that svc would set has an address already' };
  return { env, args: [], hasEnvelope: false, remarks };
}

/** From the working folder to the root of its repository. A folder of that name is a virtual environment of Python. */
const envFiles = ({ cwd }: StartContext): { path: string; env: Environment }[] =>
  foldersInRepository(cwd)
    .map((folder) => join(folder, '.env'))
    .filter((path) => existsSync(path) && statSync(path).isFile())
    .map((path) => ({ path, env: parseEnv(settingsText(path) ?? '') as Environment }));
