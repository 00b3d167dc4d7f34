/** Reads of the context of a call, and of one of its blocks. */
import type { BlockContent, CallContext } from '../../../model/call-context.ts';
import { request } from './request.ts';

/** @param against `none`, or the number of a raw turn; null: the call before it */
export const readContext = (raw_turn_id: number, against: string | null, signal?: AbortSignal): Promise<CallContext> =>
  request(`/v1/raw_turns/${raw_turn_id}/context${against === null ? '' : `?${new URLSearchParams({ against })}`}`, {
    signal,
    payload: true,
  });

/** @param n its place in cache order, 0 first */
export const readBlock = (raw_turn_id: number, n: number, signal?: AbortSignal): Promise<BlockContent> =>
  request(`/v1/raw_turns/${raw_turn_id}/blocks/${n}`, { signal, payload: true });
