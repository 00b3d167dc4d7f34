/** Embeds spans in the background: runs over what is new or changed, each of which continues where the last one ended. */
import { createHash } from 'node:crypto';
import type { Db, Env, Progress, ScheduledContext, ScheduledEvent } from '../../core/cassette/contract.ts';
import { comparedBy } from './changed-sessions.ts';
import { beginComparison, beginLedgerComparison, lastComparison, rememberComparison } from './comparisons.ts';
import { embedderOf } from './configured.ts';
import { backlogPassed, hasBacklog } from './derivation-backlog.ts';
import { type EmbedTally, type EmbedTarget, embedGroup, keyOf, type SpanWork } from './embed-group.ts';
import { embedsOnce } from './embed-once.ts';
import { EmbeddingFailed, NoEmbedder } from './embedder.ts';
import { isCut, type LedgerEntry, ledgerOf, type SpanToEmbed } from './ledger.ts';
import type { SearchConfig } from './manifest.ts';
import { relationsOf } from './relations.ts';
import { chunksOf, embeddedText, isHeavy } from './span-text.ts';
import { vectorStoreOf } from './vector-store.ts';

/** The last reported progress of embedding, by its settings. */
const lastProgress = new Map<string, Progress>();

/** null: embedding has not run in this process. */
export const embeddingReached = ({ CONFIG }: Pick<Env<SearchConfig>, 'CONFIG'>): Progress | null =>
  lastProgress.get(JSON.stringify(CONFIG)) ?? null;

/** When the entries were last counted: another process may have written since, so this is done now and then without any change. */
const counted = new WeakMap<Db, { of: string; at: number }>();
const COUNTED_EVERY_MS = 300_000;

/** The last progress, where nothing is left to do and it was counted lately. */
function recentCounts(db: Db, config: SearchConfig): Progress | null {
  const last = counted.get(db);
  const progress = embeddingReached({ CONFIG: config });
  const recent = last?.of === JSON.stringify(config) && Date.now() - last.at < COUNTED_EVERY_MS;
  return recent && progress?.pending === 0 ? progress : null;
}

const KEYS_AT_ONCE = 2000;
const SPANS_AT_ONCE = 16;
const MOST_CHUNKS = 100; // of one span
const CHUNKS_AT_ONCE = 50; // in one write: statements have a size limit, and updating the index takes time
/** Each refused span costs some calls; after so many of them the run ends, and the next one goes on. */
const MOST_REFUSED = 100;

/** @throws {Error} there is no embedder, or it is unavailable: the next run tries again */
export async function embedSpans(
  env: Env<SearchConfig>,
  { signal }: Pick<ScheduledEvent, 'signal'>,
  { progress: report }: Pick<ScheduledContext, 'progress'>,
): Promise<void> {
  if (!env.DB) return; // nothing was captured either
  const progress = (counts: Progress) => {
    lastProgress.set(JSON.stringify(env.CONFIG), counts);
    report(counts);
  };
  let embedded = 0;
  for (let complete = false; !complete && !signal.aborted; ) {
    const pass = await embedUntilBacklog(env, env.DB, signal, progress);
    ({ complete } = pass);
    embedded += pass.embedded;
  }
  if (embedded > 0) env.LOG.info({ spans: embedded, model: embedderOf(env).model }, 'spans were embedded');
}

/**
 * One pass: it deletes, waits while derivation has a backlog, compares, and embeds at least one batch. `complete` false: it ended
 * over a backlog. The next one compares anew, so that the newest spans come first again, and forgets what texts were alike.
 */
async function embedUntilBacklog(
  env: Env<SearchConfig>,
  db: Db,
  signal: AbortSignal,
  progress: (counts: Progress) => void,
): Promise<{ complete: boolean; embedded: number }> {
  const relations = relationsOf(env.CONFIG);
  const store = await vectorStoreOf(env);
  const pruning = await beginComparison(env, lastComparison(env, 'prune'));
  // Deleted spans are removed, whether or not there is an embedder.
  const fewer = await ledgerOf(db, store, relations, '').prune(pruning.scope, signal);
  if (signal.aborted) return { complete: false, embedded: 0 };
  rememberComparison(env, 'prune', comparedBy(pruning, []));
  const direct = embedderOf(env);
  const embedder = embedsOnce(direct);
  await backlogPassed(env, signal);
  if (signal.aborted) return { complete: false, embedded: 0 };
  const ledger = ledgerOf(db, store, relations, embedder.model);
  const comparison = await beginLedgerComparison(env, ledger, lastComparison(env, 'embed'));
  const { scope } = comparison;
  const target: EmbedTarget = { embedder, direct, ledger, signal };
  let [batches, embedded, refused] = [0, 0, 0];
  for (;;) {
    const due = await ledger.due(scope, KEYS_AT_ONCE);
    const before = scope && due.length === 0 && !fewer ? recentCounts(db, env.CONFIG) : null;
    let counts = before ?? (await ledger.counts(due, KEYS_AT_ONCE));
    if (!before) counted.set(db, { of: JSON.stringify(env.CONFIG), at: Date.now() });
    progress(counts);
    for (let at = 0; at < due.length; at += SPANS_AT_ONCE) {
      if (signal.aborted || (batches > 0 && (await hasBacklog(env)))) return { complete: false, embedded };
      const batch = due.slice(at, at + SPANS_AT_ONCE);
      if (refused >= MOST_REFUSED)
        throw new EmbeddingFailed('away', `Cannot embed: ${refused} texts were refused; the next run goes on`);
      const tally = await embedBatch(await ledger.read(batch), target);
      refused += tally.failed;
      batches += 1;
      embedded += tally.embedded;
      counts = {
        done: counts.done + batch.length - tally.failed,
        pending: Math.max(0, counts.pending - batch.length),
        failed: counts.failed + tally.failed,
      };
      progress(counts);
    }
    if (due.length < KEYS_AT_ONCE) break;
  }
  if (scope === null) while (await ledger.forgetOthers()) if (signal.aborted) return { complete: false, embedded };
  rememberComparison(env, 'embed', comparedBy(comparison, await ledger.withoutText(scope)));
  return { complete: true, embedded };
}

async function embedBatch(spans: readonly SpanToEmbed[], target: EmbedTarget): Promise<EmbedTally> {
  const { embedder, ledger } = target;
  const known: LedgerEntry[] = [];
  const work: SpanWork[] = [];
  for (const span of spans) {
    const text = embeddedText(span.plain_text);
    const hash = hashOf(text, embedder.chunkLength);
    const entry = { ...keyOf(span), content_hash: hash };
    const chunks = chunksOf(text, embedder.chunkLength);
    const shortened = chunks.length > MOST_CHUNKS || isCut(span);
    if (text === '') known.push({ ...entry, state: 'empty', chunks: [] });
    else if (hash === span.content_hash && span.state === 'embedded')
      known.push({ ...entry, state: 'embedded', chunks: null, shortened });
    else work.push({ ...span, hash, chunks: chunks.slice(0, MOST_CHUNKS), shortened });
  }
  await ledger.write(known);
  const tally = { embedded: 0, failed: 0 };
  for (const group of groupsOf(work)) {
    const { embedded, failed } = await embedGroup(group, target);
    tally.embedded += embedded;
    tally.failed += failed;
  }
  return tally;
}

/** Of the chunks: of a text in Latin letters they are cut as by former versions, whose vectors stay. */
const hashOf = (text: string, most: number): string =>
  createHash('sha256')
    .update(`${most}${isHeavy(text, most) ? ' weighed' : ''}\n${text}`)
    .digest('hex');

function groupsOf(work: readonly SpanWork[]): SpanWork[][] {
  const groups: SpanWork[][] = [];
  let chunks = Number.POSITIVE_INFINITY;
  for (const span of work) {
    chunks += span.chunks.length;
    if (chunks > CHUNKS_AT_ONCE) {
      groups.push([]);
      chunks = span.chunks.length;
    }
    groups.at(-1)?.push(span);
  }
  return groups;
}

/** The vector of a question, by the same model as those of the spans. */
export async function embedQuery(env: Env<SearchConfig>, query: string): Promise<{ model: string; vector: number[] }> {
  const embedder = embedderOf(env);
  const [beginning = ''] = chunksOf(query.slice(0, embedder.chunkLength), embedder.chunkLength);
  const [vector] = await embedder.embed([beginning], { urgent: true });
  if (!vector) throw new NoEmbedder('it gave no vector');
  return { model: embedder.model, vector };
}
