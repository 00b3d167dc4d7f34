/** How many connections to a PostgreSQL server each role opens at most. */
import type { ServeRole } from './role.ts';

/**
 * `listeners`: for responses and readiness. `engine`: for what runs behind them. `notifications`: one on which it listens for new turns; none
 * through a transaction pooler. `eachCassette`: for each admitted cassette with a database; an export takes one more while it runs.
 */
export type PoolSizes = { listeners: number; engine: number; notifications: 0 | 1; eachCassette: 0 | 4 };

/** Idle connections are closed after a minute. A test compares the table of README.md with these. */
export const POOL_SIZES: Readonly<Record<ServeRole, PoolSizes>> = {
  all: { listeners: 10, engine: 4, notifications: 1, eachCassette: 4 },
  proxy: { listeners: 0, engine: 3, notifications: 0, eachCassette: 0 }, // one stores, one reads ahead, one deletes segments
  api: { listeners: 10, engine: 2, notifications: 0, eachCassette: 4 },
  ingest: { listeners: 1, engine: 4, notifications: 0, eachCassette: 0 },
  derive: { listeners: 1, engine: 6, notifications: 1, eachCassette: 0 }, // four sessions at a time, their leases and the queue
};
