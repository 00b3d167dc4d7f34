/** Embeds the spans of a group together; of a group that is refused, those that the embedder itself refuses are found by halving. */
import { type Embedder, EmbeddingFailed } from './embedder.ts';
import type { Ledger, LedgerEntry, SpanToEmbed } from './ledger.ts';
import { snippetOf } from './span-text.ts';

export type SpanWork = SpanToEmbed & { hash: string; chunks: string[]; shortened: boolean };

/** `direct`: the same embedder without a memory of vectors. */
export type EmbedTarget = { embedder: Embedder; direct: Embedder; ledger: Ledger; signal: AbortSignal };

/** Counts of spans. */
export type EmbedTally = { embedded: number; failed: number };

/** A failure that may pass is retried after 1 minute, 4 minutes and so on; after this many attempts it is given up. */
const MOST_ATTEMPTS = 5;
const pauseAfter = (attempts: number) => (attempts >= MOST_ATTEMPTS ? null : 60 * 4 ** (attempts - 1)); // seconds

/** What every embedder takes that works. */
const HARMLESS = 'hello';

type Refused = { span: SpanWork; error: EmbeddingFailed };

/**
 * Writes the vectors of the spans into the ledger, and the reason of those that are refused.
 * @throws {EmbeddingFailed} `away`, or the embedder fails over all texts: then no span is at fault, and none is marked
 */
export async function embedGroup(work: readonly SpanWork[], target: EmbedTarget): Promise<EmbedTally> {
  const error = await embedTogether(work, target);
  if (!error) return { embedded: work.length, failed: 0 };
  await refusesOnlySome(target, error);
  const refused = await embedHalves(work, target, error);
  await target.ledger.write(refused.map(failureOf));
  return { embedded: work.length - refused.length, failed: refused.length };
}

/** @returns why these texts are refused; null: they are embedded. @throws what is no fault of the texts */
async function embedTogether(work: readonly SpanWork[], target: EmbedTarget): Promise<EmbeddingFailed | null> {
  try {
    await target.ledger.write(await embeddedAll(work, target));
    return null;
  } catch (error) {
    if (!isRefusal(error, target)) throw error;
    return error;
  }
}

const isRefusal = (error: unknown, { signal }: EmbedTarget): error is EmbeddingFailed =>
  error instanceof EmbeddingFailed && error.kind !== 'away' && !signal.aborted;

/**
 * A wrong model or setting is answered with the status of a wrong text: whoever refuses a harmless one as well refuses all.
 * A vector that is remembered from before would prove nothing.
 */
async function refusesOnlySome({ direct, signal }: EmbedTarget, refusal: EmbeddingFailed): Promise<void> {
  await direct.embed([HARMLESS], { signal }).catch((error: unknown) => {
    if (!(error instanceof EmbeddingFailed) || error.kind === 'away') throw error;
    throw new EmbeddingFailed('away', refusal.message, { cause: error });
  });
}

/** @param error why all of them together are refused */
async function embedHalves(work: readonly SpanWork[], target: EmbedTarget, error: EmbeddingFailed): Promise<Refused[]> {
  const [span, ...others] = work;
  if (!span) return [];
  if (others.length === 0) return [{ span, error }];
  const refused: Refused[] = [];
  for (const half of halvesOf(work)) {
    const why = await embedTogether(half, target);
    if (why) refused.push(...(await embedHalves(half, target, why)));
  }
  return refused;
}

const halvesOf = <Item>(items: readonly Item[]): [Item[], Item[]] => {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
};

function failureOf({ span, error: { kind, message } }: Refused): LedgerEntry {
  const again = span.hash === span.content_hash && span.state === 'failed';
  const attempts = again ? span.attempts + 1 : 1;
  return {
    ...{ ...keyOf(span), content_hash: span.hash, state: 'failed', chunks: [], attempts, reason: message },
    retry_in_seconds: kind === 'text' ? null : pauseAfter(attempts),
  };
}

async function embeddedAll(work: readonly SpanWork[], target: EmbedTarget): Promise<LedgerEntry[]> {
  const { embedder, signal } = target;
  const texts = work.flatMap(({ chunks }) => chunks);
  const vectors: number[][] = [];
  for (let at = 0; at < texts.length; at += embedder.batch) {
    const batch = texts.slice(at, at + embedder.batch);
    vectors.push(...(await (work.length === 1 ? vectorsOf(batch, target) : embedder.embed(batch, { signal }))));
  }
  let at = 0;
  return work.map(({ hash, chunks, shortened, ...span }) => ({
    ...{ ...keyOf(span), content_hash: hash, state: 'embedded' as const, shortened },
    chunks: chunks.map((chunk) => ({ snippet: snippetOf(chunk), embedding: vectors[at++] ?? [] })),
  }));
}

/** The vectors of one span's chunks: too many at once may be refused where each alone is not. */
async function vectorsOf(texts: readonly string[], target: EmbedTarget): Promise<number[][]> {
  const { embedder, signal } = target;
  try {
    return await embedder.embed(texts, { signal });
  } catch (error) {
    if (texts.length < 2 || !isRefusal(error, target)) throw error;
    const [first, second] = halvesOf(texts);
    return [...(await vectorsOf(first, target)), ...(await vectorsOf(second, target))];
  }
}

type SpanKey = Pick<LedgerEntry, 'trace_id' | 'span_id' | 'session_id' | 'fingerprint'>;

/** What names a span in the ledger, and which of its versions. */
export const keyOf = ({ trace_id, span_id, session_id, fingerprint }: SpanKey): SpanKey => ({
  ...{ trace_id, span_id, session_id, fingerprint },
});
