/** Whether a preview of a span is too little for what a row shows of it. */
import type { Span } from '../../../../../model/span.ts';
import { answerBlocks, isCut, shownBlocks } from './blocks.ts';
import type { Folds } from './folds.ts';

/** The id under which the fold of a block of an answer is remembered. */
export const answerBlockId = (span_id: string, n: number): string => `${span_id} out ${n}`;

export const inputIsCut = ({ input }: Pick<Span, 'input'>): boolean => input.flatMap(shownBlocks).some(isCut);

/** Thinking that is folded shows less than a preview has. */
export const answerIsCut = (
  { span_id, output }: Pick<Span, 'span_id' | 'output'>,
  { isOpen }: Pick<Folds, 'isOpen'>,
): boolean =>
  answerBlocks(output).some(
    (block, n) => isCut(block) && (block.kind !== 'thinking' || isOpen('thinking', answerBlockId(span_id, n))),
  );

export const toolIsCut = ({ input, output }: Pick<Span, 'input' | 'output'>): boolean =>
  output.flatMap(shownBlocks).some(isCut) ||
  input.some(({ tool_input }) => isCut({ kind: 'unknown', type: '', value: tool_input }));
