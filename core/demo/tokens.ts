/** The tokens that a call of the demo uses, computed from its text, since no model has seen it. */
import type { ProviderId } from '../provider/provider-ids.ts';
import type { DemoUsage, ScriptedAnswer, ScriptedRefusal } from './script.ts';

/** Four characters to a token: near enough for a demo, and the same on every machine. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4);

/** Cached tokens of a call's input, from the input of the call before. OpenAI caches in steps of 128 from 1,024 on; Ollama reports none. */
export function cachedBy(provider: ProviderId, before: number): number {
  if (provider === 'ollama') return 0;
  return provider === 'anthropic' ? before : before < 1_024 ? 0 : before - (before % 128);
}

export function outputOf(step: ScriptedAnswer | ScriptedRefusal): Pick<DemoUsage, 'output' | 'reasoning'> {
  if (step.kind === 'refuses') return { output: 0, reasoning: 0 };
  const reasoning = tokensIn(step.thinking);
  const toolCalls = step.uses.map(({ tool, input }) => tool + JSON.stringify(input)).join('');
  return { output: reasoning + tokensIn(step.text + toolCalls) + 8, reasoning };
}
