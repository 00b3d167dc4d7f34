/** The text of a row, for the clipboard. */
import type { Span } from '../../../../../model/span.ts';
import { answerBlocks, type ShownBlock, shownBlocks } from './blocks.ts';
import { jsonText, textsIn } from './recorded-text.ts';
import type { RowKind } from './talk-rows.ts';

/** What a person means by the text of such a row. */
export function textOfRow(kind: RowKind, span: Span): string {
  if (kind === 'prompt') return joined(spanTexts({ ...span, output: [] }));
  if (kind === 'step' || kind === 'compaction') {
    const words = answerBlocks(span.output).flatMap((block) => (block.kind === 'text' ? block.text : []));
    return joined(words.length > 0 ? words : [span.error_message ?? '']);
  }
  if (kind === 'tool') {
    const result = joined(
      span.output.flatMap(shownBlocks).flatMap((block) => (block.kind === 'text' ? block.text : [])),
    );
    return result !== '' ? result : joined(spanTexts({ ...span, output: [] }));
  }
  return joined(spanTexts(span));
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');

/** All texts of a span that Talk shows. */
function spanTexts({ kind, input, output, error_message }: Span): string[] {
  const inputs =
    kind === 'tool' ? input.flatMap(({ tool_input }) => textsIn(tool_input)) : blockTexts(input.flatMap(shownBlocks));
  const outputs = kind === 'tool' ? output.flatMap(shownBlocks) : answerBlocks(output);
  return [...inputs, ...blockTexts(outputs), ...(error_message === undefined ? [] : [error_message])];
}

const blockTexts = (blocks: readonly ShownBlock[]): string[] =>
  blocks.flatMap((block) => {
    if (block.kind === 'text' || block.kind === 'thinking') return block.text;
    return block.kind === 'unknown' ? (jsonText(block.value) ?? []) : [];
  });
