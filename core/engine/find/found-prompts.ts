/** System prompts and definitions of tools, as the index has them: in pieces, each with its terms, and where a session has it first. */
import { createHash } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import type { SpanToIndex } from '../../db/find/index-spans.ts';
import type { FoundPiece, FoundPrompts, PromptUse } from '../../db/find/prompts.ts';
import { type PromptPiece, promptPieces } from '../../find/prompt-pieces.ts';
import { termsOf } from '../../find/terms.ts';
import { openYielder } from '../yielder.ts';
import { nothingSeen, promptTexts, type SeenInPrompts } from './prompt-texts.ts';

/** Of what a call has first; a prompt may be as large as a whole library of documents. */
const MOST_CHARACTERS = 524_288;

/** The pieces of what the calls have first of which the spans show the answers. A transcript has no such call. */
export async function foundPrompts(
  execute: Database['execute'],
  spans: readonly SpanToIndex[],
  seen: ReadonlyMap<string, SeenInPrompts>,
): Promise<FoundPrompts> {
  const shown = spans.filter(
    ({ kind, inherited, raw_turn_id }) => kind === 'llm' && !inherited && raw_turn_id !== null,
  );
  const raw_turn_ids = [...new Set(shown.flatMap(({ raw_turn_id }) => raw_turn_id ?? []))];
  const read = raw_turn_ids.length > 0 ? await execute('promptCallsOf', { raw_turn_ids }) : [];
  const byTurn = new Map(read.map((call) => [call.raw_turn_id, call]));
  const calls = shown.flatMap((span) => {
    const call = byTurn.get(span.raw_turn_id ?? Number.NaN);
    return call ? { span, call, seen: seen.get(span.session_id) ?? nothingSeen() } : [];
  });
  const texts = await promptTexts(execute, calls);
  const pieces = new Map<string, FoundPiece>();
  const cut = openCutter();
  const uses: PromptUse[] = [];
  const yieldThread = openYielder();
  for (const [i, { span, call }] of calls.entries()) {
    const { session_id, trace_id, span_id, at } = span;
    let left = MOST_CHARACTERS;
    for (const { block, offset, text } of texts[i] ?? []) {
      const indexed = text.slice(0, left);
      left -= indexed.length;
      for (const { start, ...piece } of cut(indexed)) {
        const { piece_id } = piece;
        pieces.set(piece_id, piece);
        const { raw_turn_id } = call;
        uses.push({ session_id, piece_id, trace_id, span_id, raw_turn_id, block, start: offset + start, at });
      }
      await yieldThread();
    }
  }
  return { pieces: [...pieces.values()], uses };
}

type PlacedPiece = FoundPiece & { start: number };

/** Returns the function that cuts a text into pieces. A text that many calls share is cut once. */
function openCutter(): (text: string) => PlacedPiece[] {
  const known = new Map<string, PlacedPiece[]>();
  return (text) => {
    const pieces = known.get(text) ?? promptPieces(text).flatMap(withTerms);
    known.set(text, pieces);
    return pieces;
  };
}

function withTerms({ start, text }: PromptPiece): PlacedPiece[] {
  const terms = termsOf(text);
  return terms.length > 0 ? [{ piece_id: createHash('sha256').update(text).digest('hex'), text, terms, start }] : [];
}
