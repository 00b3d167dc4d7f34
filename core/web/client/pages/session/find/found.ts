/** A text that was found in a step, and what it is known by in an address. */
import type { SessionMatch } from '../../../../../model/find.ts';

/** The beginning of its step's id, its side, block and offsets. */
export const foundKey = ({
  span_id,
  side,
  block,
  start,
  end,
}: Pick<SessionMatch, 'span_id' | 'side' | 'block' | 'start' | 'end'>): string =>
  [span_id.slice(0, 8), side, block, start, end].join('.');

/** Whether an address that names a text so names one of this step. */
export const isFoundIn = (key: string | null, span_id: string): boolean =>
  key?.startsWith(`${span_id.slice(0, 8)}.`) ?? false;
