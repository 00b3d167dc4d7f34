/** Judges the calls of a session as they are walked over, one after the other: which broke the prompt cache, why, and what it cost. */
import { ordinaryTerms } from '../../model/terms.ts';
import type { PriceOf } from '../../price/prices.ts';
import type { CacheCall } from '../../prompt/cache-call.ts';
import { openCacheJudge, type Verdict } from '../../prompt/cache-rules.ts';
import { cachingOf } from '../../provider/providers.ts';
import type { CallPrompt } from '../prompt/prompts-of.ts';

export type JudgeCall = (call: CallPrompt) => { call: CacheCall; verdict: Verdict };

/** @param seams the calls with which a conversation goes on after a compaction */
export function openCallJudge({ priceOf, seams }: { priceOf: PriceOf; seams: ReadonlySet<number> }): JudgeCall {
  const judge = openCacheJudge(cachingOf);
  return (prompt) => {
    const call = cacheCallOf(prompt, seams.has(prompt.raw_turn_id), priceOf);
    return { call, verdict: judge.judge(call) };
  };
}

const IN_US = { ...ordinaryTerms, inference_geo: 'us' };

function cacheCallOf(call: CallPrompt, seam: boolean, priceOf: PriceOf): CacheCall {
  const { thread_id, call_kind, tokens, price, provider, model, at } = call;
  return {
    raw_turn_id: call.raw_turn_id,
    session_id: call.session_id,
    at,
    ended_at: call.ended_at,
    model,
    provider,
    credential: call.credential,
    lane: call_kind === 'main' ? thread_id : JSON.stringify([thread_id, call_kind]),
    seam,
    prompt: call.prompt,
    tokens: tokens.shares.map((share) => share.tokens),
    usage: call.usage,
    cost: (usage) => {
      if (!price) return null;
      const terms = price.source.includes(' in the US ') ? IN_US : undefined;
      const priced = priceOf(provider, model, at, usage, terms);
      // Where the list has another row by now, what was billed cannot be divided any more.
      return priced && listOf(priced.price) === listOf(price) ? priced.usd : null;
    },
    span: call.span,
  };
}

/** Without the notes on what the list lacks, which depend on the tokens. */
const listOf = ({ model, source, date }: { model: string; source: string; date: string }): string =>
  JSON.stringify([model, source.split(', ')[0], date]);
