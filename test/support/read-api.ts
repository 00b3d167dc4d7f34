/** The read API with given data only, for tests that call it through `app.request()`. */
import { type ReadApi, readApi } from '../../core/api/app.ts';
import { openLog } from '../../core/log.ts';
import { openMetrics } from '../../core/metrics.ts';

export const testApi = (overrides: Partial<ReadApi> = {}) =>
  readApi({
    execute: () => Promise.reject(new Error('no database')),
    append: () => Promise.reject(new Error('no engine')),
    log: openLog('silent'),
    metrics: openMetrics('all', '0.0.0'),
    version: '0.0.0',
    allowedHosts: [],
    token: '',
    now: () => Date.parse('2026-07-27T10:00:00Z'),
    ...overrides,
  });

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, whatever the type
export type Json = any;
