/** How high the rows of Talk will be, from what the outline knows of their texts before these are there. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { Folds } from './folds.ts';
import type { TalkRows } from './talk-rows.ts';

/** In pixels. `character`: the mean width of one in running text. */
const LINE = 21;
const CODE_LINE = 19;
const CHARACTER = 7.2;
const HEAD = 30;
const PADDING = 10;
const IMAGE = 190;

/** What a text shows at first; as `FoldedText` cuts it. */
export const FIRST = { answer: { lines: 80, characters: 8_000 }, result: { lines: 12, characters: 3_000 } } as const;

/** @param width of the list, in pixels */
export function rowHeight(
  { spans }: OutlineColumns,
  rows: TalkRows,
  { isOpen }: Pick<Folds, 'isOpen'>,
  width: number,
): (row: number) => number {
  const columns = Math.max(20, (width - 48) / CHARACTER);
  const height = (lines: number, characters: number, most: { lines: number; characters: number }) =>
    Math.max(Math.min(lines, most.lines), Math.ceil(Math.min(characters, most.characters) / columns));
  const input = (span: number, most: { lines: number; characters: number }) =>
    height(spans.input_lines[span] ?? 0, spans.input_characters[span] ?? 0, most);
  const output = (span: number, most: { lines: number; characters: number }) =>
    height(spans.output_lines[span] ?? 0, spans.output_characters[span] ?? 0, most);
  return (row) => {
    const of = rows.of[row] ?? 0;
    switch (rows.kind[row]) {
      case 'trace':
        return 52;
      case 'prompt':
        return PADDING * 2 + HEAD + input(of, FIRST.answer) * LINE + (spans.images[of] ?? 0) * IMAGE;
      case 'step':
        return PADDING + HEAD + output(of, FIRST.answer) * LINE;
      case 'tool':
        if (!isOpen('tool', spans.span_id[of] ?? '')) return HEAD;
        return (
          HEAD +
          PADDING * 4 +
          (input(of, FIRST.result) + output(of, FIRST.result)) * CODE_LINE +
          (spans.images[of] ?? 0) * IMAGE
        );
      case 'agent':
        return 64 + 22 * (rows.below.get(of)?.length ?? 0);
      case 'context':
        return isOpen('context', spans.span_id[of] ?? '') ? HEAD + input(of, FIRST.result) * LINE : HEAD;
      case 'compaction':
        return isOpen('compaction', spans.span_id[of] ?? '') ? 60 + output(of, FIRST.answer) * LINE : 60;
      default:
        return HEAD;
    }
  };
}
