/**
 * The rules by which a call is found to have broken the prompt cache, and why. A break is named only where something shows it: the
 * bytes of two prompts, the time between them, or what the provider states about its cache; all else is 'unexplained'.
 */
import type { BreakCause, CacheBreak, PromptSection } from '../model/cache-break.ts';
import { PROMPT_SECTIONS } from '../model/cache-break.ts';
import type { Usage } from '../model/usage.ts';
import { type Caching, type CachingByMarks, LIFETIME_MS } from '../provider/caching.ts';
import { adviceFor } from './cache-advice.ts';
import type { BilledCall, CacheCall } from './cache-call.ts';
import { lostUsd } from './cache-cost.ts';
import { type Earlier, openPredecessors, type PredecessorCandidate } from './predecessor.ts';
import type { CacheMark, Lifetime, Prefixes } from './prefixes.ts';
import type { Prompt, PromptParameter } from './prompt.ts';
import { resembles, type Shown, shownDifference } from './shown-difference.ts';

/** `contradicted`: more was read than the two prompts have in common, so they were compared wrongly. */
export type Verdict = { judged: boolean; break: CacheBreak | null; contradicted: boolean };

/** Judges the calls of a session one after the other, in the order in which they began. */
export type CacheJudge = { judge(call: CacheCall): Verdict };

export type CachingOf = (call: Pick<CacheCall, 'provider' | 'model'> & { format: string }) => Caching | null;

const HEALTHY: Verdict = { judged: true, break: null, contradicted: false };
const SILENT: Verdict = { judged: false, break: null, contradicted: false };
const PLANNED: ReadonlySet<BreakCause> = new Set(['first', 'model', 'compaction']);

export function openCacheJudge(cachingOf: CachingOf): CacheJudge {
  const predecessors = openPredecessors();
  return {
    judge(call) {
      const caching = cachingOf({ provider: call.provider, model: call.model, format: call.prompt.format });
      if (!caching || !call.usage) return SILENT;
      const found = predecessors.find(call);
      const verdict = verdictOn({ ...call, usage: call.usage }, found, caching);
      const marks = caching.by === 'marks' ? marksOf(call, call.usage) : [];
      predecessors.add({ call, ids: found.ids, marks });
      return verdict;
    },
  };
}

type Found = ReturnType<ReturnType<typeof openPredecessors>['find']>;

function verdictOn(call: BilledCall, { ids, candidates, switched, prefixes }: Found, caching: Caching): Verdict {
  for (const candidate of candidates) {
    const { earlier, common, line } = candidate;
    const held = heldBy(earlier, caching);
    if (!held || held.tokens === 0) {
      if (line === 'own') return HEALTHY;
      continue;
    }
    const isIntact = common >= held.end;
    if (!isIntact && (line === 'other' || isOtherConversation(call, candidate, held, ids))) {
      if (line === 'own') return HEALTHY;
      continue;
    }
    return compared({ call, candidate, held, ids, prefixes, switched, caching });
  }
  return HEALTHY;
}

/** What the provider held of a prompt: its first `end` blocks. `sum`: their tokens as they are shared among the blocks; null: no count. */
type Held = { end: number; tokens: number; sum: number | null; kept: boolean };

/** The third rule. null: nothing, and for no reason that this call could mend. */
function heldBy({ call, ids, marks }: Earlier, caching: Caching): Held | null {
  const usage = call.usage as Usage;
  if (caching.by === 'steps') {
    const tokens = usage.input_tokens < caching.least ? 0 : usage.input_tokens - (usage.input_tokens % caching.step);
    return { end: ids.length, tokens, sum: sumOf(call.tokens, ids.length), kept: true };
  }
  const last = marks.at(-1);
  if (!last) return null;
  const end = last.block + 1;
  const sum = sumOf(call.tokens, end);
  const billed = usage.cache_read_tokens + writtenTokens(usage);
  if (billed > 0) return { end, tokens: billed, sum, kept: true };
  // Nothing was kept: because it is too short, or because this provider keeps nothing, in which case no call is to blame.
  return sum !== null && sum < caching.least(call.model) ? { end, tokens: sum, sum, kept: false } : null;
}

type Comparison = {
  call: BilledCall;
  candidate: PredecessorCandidate;
  held: Held;
  ids: readonly number[];
  prefixes: Prefixes<Earlier>;
  switched: Found['switched'];
  caching: Caching;
};

/** The fourth rule. */
function compared(comparison: Comparison): Verdict {
  const { call, candidate, held, ids, caching } = comparison;
  const expected = expectedTokens(candidate, held, ids, caching);
  if (expected === null) return HEALTHY;
  const read = call.usage.cache_read_tokens;
  if (read >= expected - toleranceOf(expected)) return HEALTHY;
  const { cause, ground, contradicted, shown } = causeOf(comparison, expected);
  const rewritten = expected - read;
  const before = lastUse(comparison);
  const found: Omit<CacheBreak, 'advice'> = {
    session_id: call.session_id,
    raw_turn_id: call.raw_turn_id,
    trace_id: call.span?.trace_id ?? null,
    span_id: call.span?.span_id ?? null,
    at: call.at,
    model: call.model,
    cause,
    ground,
    planned: PLANNED.has(cause),
    expected_tokens: expected,
    read_tokens: read,
    rewritten_tokens: rewritten,
    lost_usd: lostUsd(call, rewritten),
    before,
    ...shown,
  };
  return {
    judged: true,
    contradicted,
    break: { ...found, advice: adviceFor(found, { call, earlier: candidate.earlier.call, caching }) },
  };
}

const toleranceOf = (tokens: number): number => Math.max(1_024, tokens * 0.02);

/** Of what was held, the tokens of the blocks that are sent again, wherever they stand now; null: their tokens are not known. */
function expectedTokens(
  { earlier, common }: PredecessorCandidate,
  held: Held,
  ids: readonly number[],
  caching: Caching,
): number | null {
  if (common >= held.end) return held.tokens;
  if (held.sum === null || held.sum === 0) return null;
  const again = countsOf(ids);
  let sum = 0;
  for (let i = 0; i < held.end; i++) {
    const left = again.get(earlier.ids[i] as number) ?? 0;
    if (left === 0) continue;
    again.set(earlier.ids[i] as number, left - 1);
    sum += earlier.call.tokens[i] ?? 0;
  }
  const tokens = Math.round((sum / held.sum) * held.tokens);
  if (caching.by === 'marks') return tokens;
  return tokens < caching.least ? 0 : tokens - (tokens % caching.step);
}

type Cause = Pick<CacheBreak, 'cause' | 'ground'> & { contradicted: boolean; shown: Shown };

const NOWHERE: Shown = { where: null, was: null, is: null };

/** The fifth rule: the first that holds. */
function causeOf(comparison: Comparison, expected: number): Cause {
  const { call, candidate, held, ids, switched, caching } = comparison;
  const { earlier, common } = candidate;
  const plainly = (cause: BreakCause, ground: CacheBreak['ground'], shown = NOWHERE): Cause => ({
    ...{ cause, ground, shown },
    contradicted: false,
  });
  if (switched === 'credential') return plainly('first', 'bytes');
  if (switched === 'model') return plainly('model', 'bytes', { where: null, was: earlier.call.model, is: call.model });

  const differs = common < held.end ? sectionAt(earlier.call, call, common) : null;
  const contradicted = differs !== null && readsBeyond(comparison);
  const ground = contradicted ? 'inferred' : 'bytes';
  const difference = (): Shown => differenceAt(candidate, call, ids);
  if (differs === 'tools' || differs === 'system') return { cause: differs, ground, contradicted, shown: difference() };
  const parameter = changedParameter(earlier.call, call, held.end, caching);
  if (parameter) return { cause: 'parameters', ground, contradicted, shown: parameter };
  if (call.seam) return { cause: 'compaction', ground, contradicted, shown: differs ? difference() : NOWHERE };
  if (differs) return { cause: 'history', ground, contradicted, shown: difference() };

  if (caching.by === 'marks') {
    if (isOutOfReach(comparison, caching, expected)) return plainly('mark', 'bytes', lastMark(earlier));
    if (!held.kept) return plainly('small', 'bytes', lastMark(earlier));
  }
  const { gap_ms, ttl } = lastUse(comparison);
  const expired = expiry(gap_ms, ttl, earlier.call, caching);
  return expired ? plainly('expired', expired) : plainly('unexplained', 'inferred');
}

/** In which section the prompts part: that of the one that stands earlier in cache order. */
function sectionAt(one: CacheCall, other: CacheCall, block: number): PromptSection | null {
  const sections = [one, other].flatMap(({ prompt }) => prompt.blocks[block]?.section ?? []);
  return PROMPT_SECTIONS.find((section) => sections.includes(section)) ?? null;
}

function differenceAt({ earlier, common: n }: PredecessorCandidate, call: CacheCall, ids: readonly number[]): Shown {
  const [before, after] = [earlier.ids[n], ids[n]];
  return shownDifference(earlier.call.prompt.blocks[n], call.prompt.blocks[n], {
    n,
    sentAgain: before !== undefined && ids.includes(before),
    sentBefore: after !== undefined && earlier.ids.includes(after),
  });
}

/** Whether more was read than what stands up to the last mark before the first difference. */
function readsBeyond({ call, candidate: { common }, ids, prefixes, caching }: Comparison): boolean {
  const last = caching.by === 'steps' ? common - 1 : (prefixes.marks(ids, common).at(-1)?.block ?? -1);
  const most = sumOf(call.tokens, last + 1);
  return most !== null && call.usage.cache_read_tokens > most + toleranceOf(most);
}

/** Other models are no predecessors, and a mark for the whole prompt is one like those on blocks. */
const isKey = ({ name, keyed }: PromptParameter): boolean => keyed && name !== 'model' && name !== WHOLE_MARK;

const WHOLE_MARK = 'cache_control';

function changedParameter(before: CacheCall, after: CacheCall, end: number, { scopeOf }: Caching): Shown | null {
  const keyed = ({ prompt }: CacheCall) =>
    new Map(prompt.parameters.filter(isKey).map(({ name, value }) => [name, value]));
  const [was, is] = [keyed(before), keyed(after)];
  for (const name of new Set([...is.keys(), ...was.keys()])) {
    const [old, now] = [was.get(name) ?? null, is.get(name) ?? null];
    const from = PROMPT_SECTIONS.indexOf(scopeOf(name));
    const block = after.prompt.blocks.findIndex(({ section }) => PROMPT_SECTIONS.indexOf(section) >= from);
    if (old === now || block === -1 || block >= end) continue;
    const section = (after.prompt.blocks[block] as { section: PromptSection }).section;
    return {
      where: { section, block, path: name, char: null },
      was: old?.slice(0, 200) ?? null,
      is: now?.slice(0, 200) ?? null,
    };
  }
  return null;
}

/** Whether what can be found from this call's marks is too little: a mark looks back over a limited number of blocks. */
function isOutOfReach(
  { call, candidate, held, ids, prefixes }: Comparison,
  { reach }: CachingByMarks,
  expected: number,
): boolean {
  const marks = marksIn(call.prompt).map(({ block }) => block);
  const found = prefixes
    .marks(ids, candidate.common)
    .findLast(({ block }) => marks.some((mark) => mark >= block && mark - block < reach));
  if (!found) return true;
  if (found.block + 1 >= held.end) return false;
  const reached = sumOf(call.tokens, found.block + 1);
  return reached !== null && reached < expected - toleranceOf(expected);
}

function lastMark({ call, marks }: Earlier): Shown {
  const block = marks.at(-1)?.block ?? 0;
  const marked = call.prompt.blocks[block];
  if (!marked) return NOWHERE;
  return { where: { section: marked.section, block, path: marked.path, char: null }, was: null, is: null };
}

/** When what the earlier call wrote was last used, and for how long it was to be kept. */
function lastUse({ call, candidate: { earlier }, held, prefixes }: Comparison): NonNullable<CacheBreak['before']> {
  const used = prefixes.newest(earlier.ids, held.end) ?? earlier;
  const ttl = prefixes.marks(earlier.ids, held.end).at(-1)?.ttl ?? earlier.marks.at(-1)?.ttl ?? null;
  const gap_ms = Math.max(0, Date.parse(call.at) - Date.parse(used.call.at));
  return { raw_turn_id: earlier.call.raw_turn_id, gap_ms, ttl };
}

function expiry(
  gap_ms: number,
  ttl: Lifetime | null,
  earlier: CacheCall,
  caching: Caching,
): CacheBreak['ground'] | null {
  if (caching.by === 'marks') return ttl !== null && gap_ms > LIFETIME_MS[ttl] ? 'clock' : null;
  const retention = earlier.prompt.parameters.find(({ name }) => name === 'prompt_cache_retention')?.value ?? '';
  const { usual_ms, most_ms } = caching.idle(retention.replaceAll('"', ''));
  return gap_ms > most_ms ? 'clock' : gap_ms > usual_ms ? 'inferred' : null;
}

/**
 * Whether the call belongs to another conversation than the earlier one, although both go by the same name: none of its messages were
 * sent before, and its tools or instructions are other ones, not changed ones.
 */
function isOtherConversation(
  call: CacheCall,
  { earlier, common }: PredecessorCandidate,
  { end }: Held,
  ids: readonly number[],
): boolean {
  const blocks = earlier.call.prompt.blocks;
  const [before, after] = [blocks[common], call.prompt.blocks[common]];
  if (!before || !after || before.section === 'messages') return false;
  const again = new Set(ids);
  let messages = 0;
  for (let i = 0; i < end; i++) {
    if (blocks[i]?.section !== 'messages') continue;
    if (again.has(earlier.ids[i] as number)) return false;
    messages += 1;
  }
  return messages > 0 && !resembles(before, after);
}

/** The marks of a call with the lifetimes of what it wrote, as the usage states them where one kind alone was written. */
function marksOf({ prompt, tokens }: CacheCall, usage: Usage): CacheMark[] {
  const { cache_write_5m_tokens: for5m, cache_write_1h_tokens: for1h } = usage;
  const stated = for5m > 0 && for1h === 0 ? '5m' : for1h > 0 && for5m === 0 ? '1h' : null;
  return marksIn(prompt).map(({ block, ttl }) => {
    const upTo = sumOf(tokens, block + 1);
    const written = writtenTokens(usage) > 0 && (upTo === null || upTo > usage.cache_read_tokens);
    return { block, written, ttl: (written ? stated : null) ?? ttl };
  });
}

/** The marks on blocks, and the one of the whole prompt, which stands on its last block. */
function marksIn({ blocks, parameters }: Prompt): Omit<CacheMark, 'written'>[] {
  const whole = parameters.find(({ name }) => name === WHOLE_MARK)?.value;
  const last: Lifetime | null =
    whole === undefined || whole === 'null' ? null : /"ttl": *"1h"/.test(whole) ? '1h' : '5m';
  return blocks.flatMap(({ mark }, block) => {
    const ttl = mark ?? (block === blocks.length - 1 ? last : null);
    return ttl === null ? [] : [{ block, ttl }];
  });
}

const writtenTokens = (usage: Usage): number => usage.cache_write_5m_tokens + usage.cache_write_1h_tokens;

/** null: one of them is not known. */
function sumOf(tokens: readonly (number | null)[], end: number): number | null {
  let sum = 0;
  for (let i = 0; i < end; i++) {
    const count = tokens[i];
    if (count === null || count === undefined) return null;
    sum += count;
  }
  return sum;
}

function countsOf(ids: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
