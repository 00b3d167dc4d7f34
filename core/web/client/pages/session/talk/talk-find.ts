/** Find in a session: over the beginnings of all its steps, and over all texts that have been read. Folded or not makes no difference. */
import type { Span } from '../../../../../model/span.ts';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { answerBlocks, type ShownBlock, shownBlocks } from './blocks.ts';
import { jsonText } from './recorded-text.ts';

/** Spans in the order of the conversation that hold the text; letters of either case are the same. */
export function spansWith(
  columns: OutlineColumns,
  order: Iterable<number>,
  read: (span: number) => Span | undefined,
  sought: string,
): number[] {
  const needle = sought.toLowerCase();
  if (needle === '') return [];
  const holds = (text: string | undefined) => text?.toLowerCase().includes(needle) ?? false;
  const { spans, names } = columns;
  const found: number[] = [];
  for (const span of order) {
    if (holds(spans.label[span]) || holds(names[spans.name[span] ?? -1])) found.push(span);
    else {
      const text = read(span);
      if (text && spanTexts(text).some(holds)) found.push(span);
    }
  }
  return found;
}

/** All texts of a span that Talk shows. */
export function spanTexts({ kind, input, output, error_message }: Span): string[] {
  const inputs =
    kind === 'tool' ? input.flatMap(({ tool_input }) => stringsIn(tool_input)) : blockTexts(input.flatMap(shownBlocks));
  const outputs = kind === 'tool' ? output.flatMap(shownBlocks) : answerBlocks(output);
  return [...inputs, ...blockTexts(outputs), ...(error_message === undefined ? [] : [error_message])];
}

const blockTexts = (blocks: readonly ShownBlock[]): string[] =>
  blocks.flatMap((block) => {
    if (block.kind === 'text' || block.kind === 'thinking') return block.text;
    return block.kind === 'unknown' ? (jsonText(block.value) ?? []) : [];
  });

function stringsIn(value: unknown): string[] {
  const found: string[] = [];
  const rest = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') found.push(next);
    else if (typeof next === 'object' && next !== null) rest.push(...Object.values(next).slice(0, 10_000));
  }
  return found;
}
