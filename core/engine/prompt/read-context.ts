/** Reads the context of a call: its prompt with the tokens of its blocks, and another call's prompt to compare it with. */
import type { Database } from '../../db/database.ts';
import type { PriceOf } from '../../price/prices.ts';
import type { Prompt, PromptBlock } from '../../prompt/prompt.ts';
import { openPromptReader } from './read-prompt.ts';
import type { WalkedCall } from './walk-prompts.ts';
import { type JudgedCall, walkedCall } from './walked-calls.ts';

type Execute = Database['execute'];

/** `priceOf`: what a break of the cache cost is worked out with it. */
export type Reads = { execute: Execute; priceOf: PriceOf };

/** `previous`: the earlier call of its thread that shares the longest beginning with it. */
export type Against = 'previous' | 'none' | number;

export type ReadContext = JudgedCall & { against: { raw_turn_id: number; prompt: Prompt } | null };

/** null: no such call, or none with a prompt. 'against': there is no such call to compare with. */
export async function readContext(
  { execute, priceOf }: Reads,
  raw_turn_id: number,
  against: Against,
): Promise<ReadContext | 'against' | null> {
  const walked = await walkedCall(execute, raw_turn_id, priceOf);
  if (!walked) return null;
  if (typeof against !== 'number') return { ...walked, against: against === 'previous' ? walked.previous : null };
  const prompt = against === raw_turn_id ? walked.prompt : await promptBlocksOf({ execute, priceOf }, against);
  return prompt ? { ...walked, against: { raw_turn_id: against, prompt } } : 'against';
}

/** A prompt without its tokens, which need the calls before it. */
export async function promptBlocksOf({ execute, priceOf }: Reads, raw_turn_id: number): Promise<Prompt | null> {
  const call = await execute('promptCallOf', { raw_turn_id });
  if (!call) return null;
  if (call.continues_call_id === '') return openPromptReader(execute)(call);
  return (await walkedCall(execute, raw_turn_id, priceOf))?.prompt ?? null; // what was held is read once, from the first call on
}

type SpanKey = { trace_id: string; span_id: string };

/** The span that shows each block: of the tool that was called, else of the call that answered it or sent it first. */
export async function spansOf(
  execute: Execute,
  { call, prompt, since, previousOf }: WalkedCall,
): Promise<(block: PromptBlock) => SpanKey | null> {
  const shownBy = ({ id, role }: PromptBlock): number => {
    const first = since.get(id) ?? call.raw_turn_id;
    return role === 'assistant' || role === 'model' ? (previousOf.get(first) ?? first) : first;
  };
  const spans = await execute('spansOfBlocks', {
    session_id: call.session_id,
    raw_turn_ids: [...new Set(prompt.blocks.map(shownBy))],
    call_ids: [...new Set(prompt.blocks.flatMap(({ call_id }) => (call_id === '' ? [] : [call_id])))],
  });
  const ofCalls = new Map<number, SpanKey>();
  const ofTools = new Map<string, SpanKey>();
  for (const { trace_id, span_id, raw_turn_id, external_id } of spans) {
    if (raw_turn_id !== null) ofCalls.set(raw_turn_id, { trace_id, span_id });
    if (external_id !== null) ofTools.set(external_id, { trace_id, span_id });
  }
  return (block) => ofTools.get(block.call_id) ?? ofCalls.get(shownBy(block)) ?? null;
}
