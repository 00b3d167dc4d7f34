/** What spans say, as the index has it: by place, in pieces, each with its terms. */
import type { FoundText, SpanToIndex } from '../../db/find/index-spans.ts';
import { spanTexts } from '../../find/span-texts.ts';
import { INDEXED_CHARACTERS, piecesOf, termsOf, timeTerms } from '../../find/terms.ts';
import type { ContentBlock } from '../../model/content-block.ts';
import type { FindPlace } from '../../model/find.ts';
import { parseJson } from '../../parse-json.ts';
import { openYielder } from '../yielder.ts';

export async function foundTexts(spans: readonly SpanToIndex[]): Promise<FoundText[]> {
  const texts: FoundText[] = [];
  const yieldThread = openYielder();
  for (const span of spans) {
    texts.push(...textsOf(span));
    await yieldThread();
  }
  return texts;
}

/** A call that counts in another session is found there. */
function textsOf(span: SpanToIndex): FoundText[] {
  const { session_id, trace_id, span_id, kind, inherited, at, input, output, error_message } = span;
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
      return {
        session_id,
        trace_id,
        span_id,
        place,
        piece: index,
        at,
        terms: [...new Set([...terms, ...timeTerms(at)])],
      };
    }),
  );
}
