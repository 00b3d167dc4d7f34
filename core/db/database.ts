/** The database as other rooms see it: operations are called by name, on either database and from any thread. */
import type { operations } from './operations.ts';

export type Operations = typeof operations;
export type OperationName = keyof Operations;
export type OperationArgs<Name extends OperationName> = Parameters<Operations[Name]>[1];
export type OperationResult<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>;

export type ExecuteOptions = {
  /** The limit of each of its statements, in place of the default. */
  limitMs?: number;
  /**
   * The call's name in the log: at most 60 bytes, unique per call. On the embedded database it identifies the call that took too long,
   * or brought the database down, among all that were pending.
   */
  label?: string;
  /** For the embedded database: whose time the call takes. Null: the service's own, which has priority. */
  owner?: string | null;
};

export type Database = {
  kind: 'embedded' | 'server';
  /** @throws {DatabaseError} `transient` when a retry may help */
  execute<Name extends OperationName>(
    name: Name,
    args: OperationArgs<Name>,
    options?: ExecuteOptions,
  ): Promise<OperationResult<Name>>;
  /** Listens for `pg_notify` on a channel until the returned function is called. Notifications are hints only: a listener also polls. */
  listen(channel: string, listener: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
};
