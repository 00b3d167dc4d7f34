/** Any other command, as `svc start` runs it: with the variables by which the providers' libraries find their address. */
import { baseAt } from '../../../http/whose-call.ts';
import type { ProviderId } from '../../../provider/provider-ids.ts';
import type { Launch, StartContext, StartedHarness, Unrecorded } from './harness.ts';
import { otherAddress } from './provider-address.ts';

const VARIABLES: readonly (readonly [variable: string, provider: ProviderId])[] = [
  ['ANTHROPIC_BASE_URL', 'anthropic'],
  ['OPENAI_BASE_URL', 'openai'],
  ['OPENAI_API_BASE', 'openai'], // of older libraries, and of some tools
  ['GOOGLE_GEMINI_BASE_URL', 'gemini'],
  ['OLLAMA_HOST', 'ollama'],
];

export const anyCommand = (command: string): StartedHarness => ({ command, name: command, harnessId: null, launch });

function launch(context: StartContext): Launch | Unrecorded {
  const env: Record<string, string> = {};
  const remarks: string[] = [];
  for (const [variable, provider] of VARIABLES) {
    const other = otherAddress(variable, context.env[variable], provider, context);
    if (other === null) env[variable] = baseAt(context.proxy, provider);
    else remarks.push(`Not recorded: calls to the address in ${variable}: ${other}`);
  }
  if (Object.keys(env).length === 0) return { unrecorded: 'each variable that svc would set has an address already' };
  return { env, args: [], hasEnvelope: false, remarks };
}
