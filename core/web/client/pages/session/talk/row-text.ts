/** The text of a row, for the clipboard. */
import type { Span } from '../../../../../model/span.ts';
import { answerBlocks, shownBlocks } from './blocks.ts';
import { spanTexts } from './talk-find.ts';
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
