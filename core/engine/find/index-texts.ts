/** Fills the index of texts behind derivation: session by session, those that were active last first. */
import type { Database } from '../../db/database.ts';
import {
  type FoundText,
  type IndexedKey,
  LAST_ID,
  NOTHING,
  type SessionBehind,
  type SpanToIndex,
} from '../../db/find/index-spans.ts';
import { spanTexts } from '../../find/span-texts.ts';
import { INDEXED_CHARACTERS, piecesOf, termsOf } from '../../find/terms.ts';
import type { ContentBlock } from '../../model/content-block.ts';
import type { FindPlace } from '../../model/find.ts';
import { parseJson } from '../../parse-json.ts';
import { openYielder } from '../yielder.ts';

const AT_ONCE = { sessions: 50, spans: 200 };

type Indexing = {
  execute: Database['execute'];
  signal: AbortSignal;
  /** Runs a commit when it delays no turn. */
  committing<T>(work: () => Promise<T>): Promise<T>;
  /** Awaited after work that took so long. */
  rest(workedMs: number): Promise<void>;
};

/** @returns how many spans were read; 0: nothing was behind */
export async function indexTexts(indexing: Indexing): Promise<number> {
  const { execute, signal } = indexing;
  const sessions: SessionBehind[] = await execute('sessionsToIndex', { limit: AT_ONCE.sessions });
  let spans = 0;
  for (const session of sessions) {
    if (signal.aborted) break;
    spans += Math.max(1, await indexSession(indexing, session));
  }
  return spans;
}

async function indexSession(
  { execute, signal, committing, rest }: Indexing,
  { session_id, rev, done, removed }: SessionBehind,
): Promise<number> {
  if (done === null || removed) await committing(() => execute('pruneIndexed', { session_id, all: done === null }));
  const yieldThread = openYielder();
  let count = 0;
  for (let after = done ?? NOTHING; !signal.aborted; ) {
    const began = performance.now();
    const spans: SpanToIndex[] = await execute('spansToIndex', { session_id, after, rev, limit: AT_ONCE.spans });
    const texts: FoundText[] = [];
    for (const span of spans) {
      texts.push(...foundTexts(span));
      await yieldThread();
    }
    const last = spans.at(-1);
    const key: IndexedKey = last ?? { rev, trace_id: LAST_ID, span_id: LAST_ID };
    const to = { rev: key.rev, trace_id: key.trace_id, span_id: key.span_id };
    const written = await committing(() =>
      execute('writeIndexed', { session_id, spans, texts, done: to, again: done !== null }),
    );
    if (!last || !written) break;
    count += spans.length;
    after = to;
    await rest(performance.now() - began);
  }
  return count;
}

/** A call that counts in another session is found there. */
export function foundTexts({
  trace_id,
  span_id,
  kind,
  inherited,
  input,
  output,
  error_message,
}: SpanToIndex): FoundText[] {
  if (inherited) return [];
  const texts = spanTexts({
    kind,
    input: parseJson(input) as ContentBlock[],
    output: parseJson(output) as ContentBlock[],
    error_message,
  });
  const byPlace = new Map<FindPlace, string>();
  for (const { place, text } of texts) {
    const before = byPlace.get(place);
    if (before === undefined) byPlace.set(place, text.slice(0, INDEXED_CHARACTERS));
    else if (before.length < INDEXED_CHARACTERS) byPlace.set(place, `${before}\n${text.slice(0, INDEXED_CHARACTERS)}`);
  }
  return [...byPlace].flatMap(([place, text]) =>
    piecesOf(text).flatMap((piece, index) => {
      const terms = termsOf(piece);
      return terms.length === 0 ? [] : { trace_id, span_id, place, piece: index, terms };
    }),
  );
}
