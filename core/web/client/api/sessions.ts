/** Reads and edits of sessions. */
import type { Session, SessionAnswer, SessionPage } from '../../../model/session.ts';
import { request } from './request.ts';

/** @param query filters, order and cursor, named as the API names them */
export const browseSessions = (query: URLSearchParams, signal?: AbortSignal): Promise<SessionPage> =>
  request(`/v1/browse/sessions?${query}`, { signal });

export const readSession = async (id: string, signal?: AbortSignal): Promise<Session> =>
  (await request<SessionAnswer>(`/v1/sessions/${encodeURIComponent(id)}`, { signal })).session;
