/** What helps against a break of the cache: a sentence for each cause, with the numbers of the call. */
import type { BreakCause, CacheBreak } from '../model/cache-break.ts';
import { type Caching, LIFETIME_MS } from '../provider/caching.ts';
import type { BilledCall, CacheCall } from './cache-call.ts';
import { longerUsd } from './cache-cost.ts';

type Found = Omit<CacheBreak, 'advice'>;
type Facts = { found: Found; call: BilledCall; earlier: CacheCall; caching: Caching };

export const adviceFor = (found: Found, facts: Omit<Facts, 'found'>): string | null =>
  SENTENCES[found.cause]({ ...facts, found });

const SENTENCES: Record<BreakCause, (facts: Facts) => string | null> = {
  first: ({ found }) => `Each account has a cache of its own: this one had to be written once, ${rewritten(found)}`,
  model: ({ found }) =>
    `Each model has a cache of its own: going to another one in mid-conversation wrote ${rewritten(found)} again`,
  tools: (facts) => `${keepBehind(facts)}; keep the tools and their order the same within a conversation`,
  system: keepBehind,
  parameters: ({ found }) =>
    `Keep ${found.where?.path ?? 'the parameters'} as it was: changing it in mid-conversation wrote ${rewritten(found)} again`,
  compaction: ({ found }) =>
    `A compaction replaces the history, and what follows it is written once: ${rewritten(found)}`,
  history: ({ found }) =>
    `Add to the history and leave what was sent before as it was: ${rewritten(found)} behind this block had to be written again`,
  mark: ({ call, caching }) => (marksIn(call) === 0 ? NO_MARK : outOfReach(caching)),
  small: ({ call, caching }) =>
    caching.by === 'marks'
      ? `This model keeps nothing below ${figure(caching.least(call.model))} tokens: leave the mark away, or put more before it`
      : null,
  expired: expired,
  unexplained: ({ found }) =>
    `Nothing that was sent explains it: the beginning is identical and was used ${span(found.before?.gap_ms ?? 0)} before; a provider may drop it early`,
};

const NO_MARK = 'Set a cache mark on the last block of each prompt: this one has none';

const outOfReach = (caching: Caching): string | null =>
  caching.by === 'marks'
    ? `A mark looks back over ${caching.reach} blocks: set one more between the last one and the end when a call adds more than that`
    : null;

const marksIn = ({ prompt }: CacheCall): number => prompt.blocks.filter(({ mark }) => mark !== null).length;

function keepBehind({ found, call }: Facts): string {
  const from = found.where?.block ?? 0;
  const behind =
    share(call.tokens.slice(from + 1), call.tokens) ?? share(sizes(call).slice(from + 1), sizes(call)) ?? 0;
  return `Keep what changes behind the last cache mark: ${behind} % of the prompt stands behind this block`;
}

const sizes = ({ prompt }: CacheCall): number[] => prompt.blocks.map(({ bytes }) => bytes);

/** In percent; null: not known. */
function share(some: readonly (number | null)[], all: readonly (number | null)[]): number | null {
  if (all.includes(null)) return null;
  const sum = (counts: readonly (number | null)[]) => counts.reduce<number>((total, count) => total + (count ?? 0), 0);
  return sum(all) === 0 ? null : Math.round((100 * sum(some)) / sum(all));
}

function expired({ found, call, earlier, caching }: Facts): string | null {
  const gap = found.before?.gap_ms ?? 0;
  if (caching.by === 'steps') {
    const retained = earlier.prompt.parameters.some(({ name }) => name === 'prompt_cache_retention');
    return retained
      ? `It was not used for ${span(gap)}, longer than this provider keeps it`
      : `It was not used for ${span(gap)}; \`prompt_cache_retention\` of 24h keeps it longer, where the model has it`;
  }
  if (gap > LIFETIME_MS['1h'])
    return `It was not used for ${span(gap)}, and no mark keeps anything for more than an hour`;
  const more = longerUsd(call, found.rewritten_tokens);
  if (more === null || found.lost_usd === null || more === 0)
    return `A mark of 1 hour keeps it over a gap such as this one of ${span(gap)}`;
  return `A mark of 1 hour would have cost ${usd(more)} more to write once, and saved ${usd(found.lost_usd)} here`;
}

const rewritten = ({ rewritten_tokens }: Found): string => `${figure(rewritten_tokens)} tokens`;
const figure = (count: number): string => count.toLocaleString('en-US');
const usd = (amount: number): string => (amount >= 0.01 ? `$${amount.toFixed(2)}` : `$${amount.toPrecision(2)}`);

function span(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} m ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}
