/** Edits of sessions by a person. */
import type { Session, SessionAnswer } from '../../../model/session.ts';
import { request } from './request.ts';

type Edit = { display_name: string | null } | { starred: boolean };

/** The session as it is shown then. */
export const editSession = async (id: string, edit: Edit): Promise<Session> =>
  (await request<SessionAnswer>(`/v1/sessions/${encodeURIComponent(id)}`, { method: 'PATCH', body: edit })).session;

/** Hides it for good; its raw turns stay. */
export const deleteSession = (id: string): Promise<void> =>
  request(`/v1/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
