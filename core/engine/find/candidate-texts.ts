/** Reads the texts of spans that the index has named. */
import type { Database } from '../../db/database.ts';
import type { CandidateSpan } from '../../db/find/find-candidates.ts';
import { type PlacedText, spanTexts } from '../../find/span-texts.ts';
import type { ContentBlock } from '../../model/content-block.ts';
import { parseJson } from '../../parse-json.ts';

export type SpanAddress = { trace_id: string; span_id: string };

export const spanOf = ({ trace_id, span_id }: SpanAddress): string => `${trace_id} ${span_id}`;

/** By `spanOf`, of the first `covered` keys: those that fit in a page. Of the others among them the spans are gone. */
export async function candidateTexts(
  execute: Database['execute'],
  keys: readonly SpanAddress[],
): Promise<{ covered: number; texts: ReadonlyMap<string, { span: CandidateSpan; texts: PlacedText[] }> }> {
  const { covered, spans } = await execute('candidateSpans', { keys });
  return { covered, texts: new Map(spans.map((span) => [spanOf(span), { span, texts: textsOf(span) }])) };
}

const textsOf = ({ kind, input, output, error_message }: CandidateSpan): PlacedText[] =>
  spanTexts({
    kind,
    input: parseJson(input) as ContentBlock[],
    output: parseJson(output) as ContentBlock[],
    error_message,
  });
