/** The request to store the sessions of the demo. */
import type { Seeded } from '../../../model/demo.ts';
import { request } from './request.ts';

export const seedDemo = (): Promise<Seeded> => request('/v1/admin/seed/demo', { method: 'POST', body: {} });
