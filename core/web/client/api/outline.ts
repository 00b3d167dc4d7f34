/** Reads of a session's outline. */
import type { Outline } from '../../../model/outline.ts';
import { request } from './request.ts';

/** @param after the `rev` of the outline that the reader has; absent: all of it @param cursor of the page before */
export function readOutline(
  id: string,
  { after, cursor, signal }: { after?: string; cursor?: string; signal?: AbortSignal } = {},
): Promise<Outline> {
  const query = new URLSearchParams({ ...(after && { after }), ...(cursor && { cursor }) });
  // without parameters it is the address that the document has loaded ahead
  return request(`/v1/sessions/${encodeURIComponent(id)}/outline${query.size > 0 ? `?${query}` : ''}`, { signal });
}
