/** Fills the index of texts behind derivation: session by session, those that were active last first. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/database.ts';
import {
  type FoundText,
  type IndexedKey,
  LAST_ID,
  NOTHING,
  type SessionBehind,
  type SpanToIndex,
} from '../../db/find/index-spans.ts';
import type { FoundPrompt } from '../../db/find/prompts.ts';
import type { PromptCall } from '../../db/read/prompt-calls.ts';
import { promptPieces } from '../../find/prompt-pieces.ts';
import { spanTexts } from '../../find/span-texts.ts';
import { INDEXED_CHARACTERS, piecesOf, termsOf, timeTerms } from '../../find/terms.ts';
import type { ContentBlock } from '../../model/content-block.ts';
import type { FindPlace } from '../../model/find.ts';
import { parseJson } from '../../parse-json.ts';
import { openYielder } from '../yielder.ts';
import { openPromptTexts } from './prompt-texts.ts';

const AT_ONCE = { sessions: 1_000, spans: 200 };
/** After so long a pass ends before its next session, and the order begins anew. To look for sessions takes longer, the more there are. */
const PASS_MS = 5_000;

type Indexing = {
  execute: Database['execute'];
  /** Runs a commit when it delays no turn. */
  committing<T>(work: () => Promise<T>): Promise<T>;
  /** Awaited after work that took so long. */
  rest(workedMs: number): Promise<void>;
};

/** Of so many sessions it is remembered which prompts were read. */
const REMEMBERED = 32;

/** @returns the function that indexes what is behind now, and returns how many spans it read; 0: nothing was behind */
export function openIndexing(indexing: Indexing): (signal: AbortSignal) => Promise<number> {
  const { execute } = indexing;
  const readers = new LRUCache<string, PromptTexts>({ max: REMEMBERED });
  return async (signal) => {
    const sessions: SessionBehind[] = await execute('sessionsToIndex', { limit: AT_ONCE.sessions });
    const began = performance.now();
    let spans = 0;
    for (const session of sessions) {
      if (signal.aborted || (spans > 0 && performance.now() - began > PASS_MS)) break;
      const { session_id, done, removed } = session;
      const known = done === null || removed ? undefined : readers.get(session_id);
      readers.delete(session_id); // until what it has read is written
      const reader = known ?? openPromptTexts(execute);
      spans += Math.max(1, await indexSession({ ...indexing, signal }, session, reader));
      if (!signal.aborted) readers.set(session_id, reader);
    }
    return spans;
  };
}

async function indexSession(
  { execute, signal, committing, rest }: Indexing & { signal: AbortSignal },
  { session_id, rev, done, removed }: SessionBehind,
  promptTexts: PromptTexts,
): Promise<number> {
  const prune = () => execute('pruneIndexed', { session_id, all: done === null });
  const lacking = done === null || removed ? await committing(prune) : false;
  const yieldThread = openYielder();
  let count = 0;
  for (let after = lacking || done === null ? NOTHING : done; !signal.aborted; ) {
    const began = performance.now();
    const { spans, more } = await execute('spansToIndex', { session_id, after, rev, limit: AT_ONCE.spans });
    const texts: FoundText[] = [];
    const prompts = new Map<string, FoundPrompt>();
    const calls = await callsOf(execute, spans);
    for (const span of spans) {
      texts.push(...foundTexts(span));
      const call = ownCall(span, calls);
      for (const prompt of call ? await foundPrompts(call, span, promptTexts) : [])
        if (!prompts.has(prompt.piece_id)) prompts.set(prompt.piece_id, prompt);
      await yieldThread();
    }
    const last = more ? spans.at(-1) : undefined;
    const key: IndexedKey = last ?? { rev, trace_id: LAST_ID, span_id: LAST_ID };
    const to = { rev: key.rev, trace_id: key.trace_id, span_id: key.span_id };
    const indexed = { session_id, spans, texts, prompts: [...prompts.values()], done: to, again: done !== null };
    const written = await committing(() => execute('writeIndexed', indexed));
    if (!written) break;
    count += spans.length;
    await rest(performance.now() - began);
    if (!last) break;
    after = to;
  }
  return count;
}

type PromptTexts = ReturnType<typeof openPromptTexts>;

/** The calls of which spans show the answers, by `raw_turn_id`. A transcript has none. */
async function callsOf(
  execute: Database['execute'],
  spans: readonly SpanToIndex[],
): Promise<ReadonlyMap<number, PromptCall>> {
  const raw_turn_ids = [...new Set(spans.flatMap((span) => (isCall(span) ? (span.raw_turn_id ?? []) : [])))];
  const calls = raw_turn_ids.length > 0 ? await execute('promptCallsOf', { raw_turn_ids }) : [];
  return new Map(calls.map((call) => [call.raw_turn_id, call]));
}

const isCall = ({ kind, inherited }: SpanToIndex): boolean => kind === 'llm' && !inherited;

const ownCall = (span: SpanToIndex, calls: ReadonlyMap<number, PromptCall>): PromptCall | undefined =>
  isCall(span) && span.raw_turn_id !== null ? calls.get(span.raw_turn_id) : undefined;

/** The pieces of what the call has first. */
async function foundPrompts(
  call: PromptCall,
  { trace_id, span_id }: SpanToIndex,
  promptTexts: PromptTexts,
): Promise<FoundPrompt[]> {
  return (await promptTexts(call)).flatMap(({ block, offset, text }) =>
    promptPieces(text).flatMap((piece) => {
      const terms = termsOf(piece.text);
      if (terms.length === 0) return [];
      const piece_id = createHash('sha256').update(piece.text).digest('hex');
      const place = { trace_id, span_id, raw_turn_id: call.raw_turn_id, block, start: offset + piece.start };
      return { piece_id, text: piece.text, terms, ...place };
    }),
  );
}

/** A call that counts in another session is found there. */
export function foundTexts({
  trace_id,
  span_id,
  kind,
  inherited,
  at,
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
      if (terms.length === 0) return [];
      return { trace_id, span_id, place, piece: index, terms: [...new Set([...terms, ...timeTerms(at)])] };
    }),
  );
}
