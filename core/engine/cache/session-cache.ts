/** What a session read from the prompt cache and wrote to it, and where it broke: worked out from the prompts of its calls. */
import type { Database } from '../../db/database.ts';
import type { CacheBreak, SessionCache } from '../../model/cache-break.ts';
import { addUsd, type Usd } from '../../price/money.ts';
import type { PriceOf } from '../../price/prices.ts';
import { savedUsd } from '../../prompt/cache-cost.ts';
import { promptsOf } from '../prompt/prompts-of.ts';
import { openCallJudge } from './judge-calls.ts';

export type WorkedOut = SessionCache & {
  /** Verdicts for which the prompts must have been compared wrongly. */
  contradictions: number;
};

/** How much of a session is read at the most, summed up over the prompts of its calls. */
export type SessionLimits = { calls: number; blocks: number; bytes: number };

/** What takes some five seconds of a slow processor. Harnesses send 500 blocks or 500 KB a call. */
export const READ_AT_ONCE: SessionLimits = { calls: 10_000, blocks: 2_000_000, bytes: 2 * 1024 ** 3 };

type Options = {
  priceOf: PriceOf;
  signal?: AbortSignal | undefined;
  /** Absent: all of the session. */
  most?: SessionLimits;
  /** Awaited after each call, with the time that it took. */
  pause?: (workedMs: number) => Promise<void>;
};

/** @throws the signal's reason */
export async function sessionCache(
  execute: Database['execute'],
  session_id: string,
  { priceOf, signal, pause, most }: Options,
): Promise<WorkedOut> {
  const seams = new Set(await execute('compactionSeams', { session_id }));
  const judge = openCallJudge({ priceOf, seams });
  const sums = { read: 0, write: 0, fresh: 0, largest: 0 };
  const breaks: CacheBreak[] = [];
  let saved: Usd | null = null;
  let lost: number | null = null;
  const seen = { calls: 0, blocks: 0, bytes: 0, judged: false, contradictions: 0 };
  let truncated = false;
  let began = performance.now();
  for await (const prompt of promptsOf(execute, session_id)) {
    signal?.throwIfAborted();
    truncated = most !== undefined && isReached(seen, most);
    if (truncated) break;
    const { call, verdict } = judge(prompt);
    seen.calls += 1;
    seen.blocks += prompt.prompt.blocks.length;
    for (const { bytes } of prompt.prompt.blocks) seen.bytes += bytes;
    const { usage } = call;
    if (usage) {
      const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens;
      sums.read += usage.cache_read_tokens;
      sums.write += written;
      sums.fresh += Math.max(0, usage.input_tokens - usage.cache_read_tokens - written);
      sums.largest = Math.max(sums.largest, usage.input_tokens);
      const usd = savedUsd({ usage, cost: call.cost });
      if (usd !== null) {
        saved = addUsd(saved ?? '0', usd);
        lost ??= 0;
      }
    }
    seen.judged ||= verdict.judged;
    if (verdict.contradicted) seen.contradictions += 1;
    if (verdict.break) {
      breaks.push(verdict.break);
      if (!verdict.break.planned && verdict.break.lost_usd !== null) lost = (lost ?? 0) + verdict.break.lost_usd;
    }
    await pause?.(performance.now() - began);
    began = performance.now();
  }
  return {
    read_tokens: sums.read,
    write_tokens: sums.write,
    fresh_tokens: sums.fresh,
    rewrite_factor: sums.write === 0 ? null : sums.write / sums.largest,
    saved_usd: saved === null ? null : Number(saved),
    lost_usd: lost,
    verdict: seen.judged ? 'judged' : 'does not say',
    calls: seen.calls,
    truncated,
    breaks,
    contradictions: seen.contradictions,
  };
}

const isReached = (read: SessionLimits, most: SessionLimits): boolean =>
  read.calls >= most.calls || read.blocks >= most.blocks || read.bytes >= most.bytes;
