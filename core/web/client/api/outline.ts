/** Reads of a session's outline. */
import type { Outline } from '../../../model/outline.ts';
import type { OUTLINE_AROUND, OUTLINE_START } from '../../first-reads.ts';
import { request } from './request.ts';

/** As the document has it: only types come from there. */
const START: typeof OUTLINE_START = { order: 'oldest', limit: '300' };
const AROUND: typeof OUTLINE_AROUND = { limit: '300' };

/** The part around a span; or the first page of a session that is read from its beginning, and the rest of it; `cursor` is of the page before. */
export type OutlineRequest = { around?: string; after?: string; fromStart?: boolean; cursor?: string };

/** @param page `after` is the `rev` of the outline that the reader has; absent: all of it */
export function readOutline(
  id: string,
  { around, after, fromStart, cursor, signal }: OutlineRequest & { signal?: AbortSignal } = {},
): Promise<Outline> {
  const { order, limit } = START;
  const query = new URLSearchParams({
    ...(around && { around, ...AROUND }),
    ...(fromStart && { order, ...(cursor ? {} : { limit }) }),
    ...(after && { after }),
    ...(cursor && { cursor }),
  });
  // of a first page it is the address that the document has loaded ahead
  return request(`/v1/sessions/${encodeURIComponent(id)}/outline${query.size > 0 ? `?${query}` : ''}`, { signal });
}
