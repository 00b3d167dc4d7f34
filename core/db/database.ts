/** How does anyone ask the database? By the name of a question, whichever database stands behind it and in whichever thread. */
import type { operations } from './operations.ts';

export type Operations = typeof operations;
export type OperationName = keyof Operations;
export type OperationArgs<Name extends OperationName> = Parameters<Operations[Name]>[1];
export type OperationResult<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>;

export type ExecuteOptions = {
  /** What each of its statements may take, in place of the usual limit. */
  limitMs?: number;
  /**
   * At most 60 bytes, another for each ask: what the log calls it. On the embedded database it tells the one that took too long, or
   * brought the database down, from all that were merely under way.
   */
  label?: string;
  /** Of the embedded database: whose time it takes. Null: the service's own, which waits for nobody's. */
  owner?: string | null;
};

export type Database = {
  kind: 'embedded' | 'server';
  /** @throws {DatabaseError} `transient` when asking again may help */
  execute<Name extends OperationName>(
    name: Name,
    args: OperationArgs<Name>,
    options?: ExecuteOptions,
  ): Promise<OperationResult<Name>>;
  /** Hears `pg_notify` on a channel until the returned function is called. Hints only: a listener also polls. */
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
};
