/** Walks over the calls of a session in the order of time, with what only the calls before show: tokens, and since when each block is sent. */
import type { Database } from '../../db/database.ts';
import type { PromptCall, PromptPlace } from '../../db/read/prompt-calls.ts';
import { commonBeginning } from '../../prompt/diff-prompts.ts';
import type { Prompt } from '../../prompt/prompt.ts';
import { type CountedPrompt, type TokenShares, tokenShares } from '../../prompt/token-shares.ts';
import { openYielder } from '../yielder.ts';
import { openPromptReader } from './read-prompt.ts';
import { storedPieces } from './stored-pieces.ts';

export type WalkedCall = {
  call: PromptCall;
  prompt: Prompt;
  tokens: TokenShares;
  /** The earlier call of the thread whose prompt shares the longest beginning; null: none does. */
  previous: { raw_turn_id: number; prompt: Prompt } | null;
  /** By call: the one whose answer it goes on from. That is the one it names, else the one that stood there for it. */
  previousOf: ReadonlyMap<number, number>;
  /** By the id of a block: the first call of the session that sent it. */
  since: ReadonlyMap<string, number>;
  /** Of this call, and of those without a prompt since the one before: what the walk depends on, as `promptMarks` has it. */
  marks: readonly string[];
};

const PAGE = 64;
/** So many earlier calls of a thread are compared with each: agents interleave two or three conversations, and repeat calls that failed. */
const RECENT = 16;

type RecentCall = CountedPrompt & { raw_turn_id: number; model: string; counted: boolean };

export async function* walkPrompts(execute: Database['execute'], session_id: string): AsyncGenerator<WalkedCall, void> {
  const pieces = storedPieces(execute);
  const readPrompt = openPromptReader(execute);
  const threads = new Map<string, RecentCall[]>(); // the newest first
  const since = new Map<string, number>();
  const previousOf = new Map<number, number>();
  const byCallId = new Map<string, number>(); // raw turns
  const yieldThread = openYielder();
  let marks: string[] = [];
  for (let after: PromptPlace | null = null, more = true; more; ) {
    const page: PromptCall[] = await execute('promptCalls', { session_id, after, limit: PAGE });
    await pieces.prepare(page);
    for (const call of page) {
      const prompt = await readPrompt(call);
      marks.push(call.mark);
      if (prompt) {
        const recent = threads.get(call.thread_id) ?? [];
        const walked = { call, prompt, since, previousOf, marks, ...compared(call, prompt, recent) };
        const answered = byCallId.get(call.continues_call_id) ?? walked.previous?.raw_turn_id;
        if (answered !== undefined) previousOf.set(call.raw_turn_id, answered);
        byCallId.set(call.call_id, call.raw_turn_id);
        for (const { id } of prompt.blocks) if (!since.has(id)) since.set(id, call.raw_turn_id);
        threads.set(call.thread_id, [recentCall(walked), ...recent].slice(0, RECENT));
        marks = [];
        yield walked;
      }
      await yieldThread();
    }
    after = page.at(-1) ?? null;
    more = page.length > 0; // a walk that is remembered goes on with the calls that have come since
  }
}

function compared(call: PromptCall, prompt: Prompt, recent: readonly RecentCall[]) {
  let [previous, most] = [null as RecentCall | null, 0];
  for (const earlier of recent) {
    const common = commonBeginning(earlier.prompt.blocks, prompt.blocks);
    if (common > most) [previous, most] = [earlier, common];
  }
  const model = modelOf(call);
  const counted = recent.filter((earlier) => earlier.counted && earlier.model === model);
  return { previous, tokens: tokenShares(prompt, call.span?.usage?.input_tokens ?? null, counted) };
}

const recentCall = ({ call, prompt, tokens }: Pick<WalkedCall, 'call' | 'prompt' | 'tokens'>): RecentCall => {
  const { raw_turn_id } = call;
  const input_tokens = call.span?.usage?.input_tokens ?? 0;
  return { raw_turn_id, model: modelOf(call), prompt, tokens, input_tokens, counted: call.span?.usage != null };
};

/** As answered, else as requested. */
export const modelOf = ({ model, span }: PromptCall): string => span?.model || model;
