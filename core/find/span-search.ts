/** The places of a text in one span, from a position on and up to a number of them: a single letter stands there a million times. */
import type { ContentBlock } from '../model/content-block.ts';
import type { FindPlace, SessionMatch } from '../model/find.ts';
import { parseJson } from '../parse-json.ts';
import { literalPattern, matchesFrom } from './matches.ts';
import { spanTexts } from './span-texts.ts';

/** Blocks as JSON. */
export type SearchedSpan = Pick<SessionMatch, 'trace_id' | 'span_id' | 'raw_turn_id'> & {
  kind: string;
  input: string;
  output: string;
  error_message: string;
};

/** `text`: its number among the texts of the span; `offset`: in UTF-16 units, of a character in that text. */
export type TextPosition = { text: number; offset: number };

/** `next`: of the first match for which there was no room; null: there is none. */
export type SpanMatches = { matches: SessionMatch[]; next: TextPosition | null };

export const SPAN_BEGINNING: TextPosition = { text: 0, offset: 0 };

/**
 * Returns the search for the text. Nothing before `from` is matched. JSON is parsed only where it holds the text as JSON writes it.
 * @param room how many matches are taken at most
 */
export function openSpanSearch(
  text: string,
  places: readonly FindPlace[],
): (span: SearchedSpan, from: TextPosition, room: number) => SpanMatches {
  const pattern = literalPattern(text);
  const inJson = literalPattern(JSON.stringify(text).slice(1, -1));
  const blocks = (json: string): ContentBlock[] => {
    inJson.lastIndex = 0;
    return inJson.test(json) ? (parseJson(json) as ContentBlock[]) : [];
  };
  return ({ trace_id, span_id, raw_turn_id, kind, input, output, error_message }, from, room) => {
    const texts = spanTexts({ kind, input: blocks(input), output: blocks(output), error_message });
    const matches: SessionMatch[] = [];
    for (const [n, { place, side, block, offset, text: within }] of texts.entries()) {
      if (n < from.text || !places.includes(place)) continue;
      const begin = n === from.text ? from.offset : 0;
      for (const { start, end, before, match, after } of matchesFrom(pattern, within, { begin, offset })) {
        if (matches.length === room) return { matches, next: { text: n, offset: start - offset } };
        // Member by member: of a million matches, spreads take longer than all the rest.
        matches.push({ side, block, place, start, end, before, match, after, trace_id, span_id, raw_turn_id });
      }
    }
    return { matches, next: null };
  };
}
