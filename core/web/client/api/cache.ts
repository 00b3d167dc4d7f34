/** Reads of how a session used the prompt cache. */
import type { SessionCache } from '../../../model/cache-break.ts';
import { request } from './request.ts';

export const readSessionCache = (id: string, signal?: AbortSignal): Promise<SessionCache> =>
  request(`/v1/sessions/${encodeURIComponent(id)}/cache`, { signal, payload: true });
