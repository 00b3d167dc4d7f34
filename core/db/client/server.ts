/** A PostgreSQL server as `Sql`: through postgres.js, with a client per connection, which is discarded once it was lost. */

import type { SQL } from 'drizzle-orm';
import type postgres from 'postgres';
import { DatabaseError } from '../../errors.ts';
import type { Database, ExecuteOptions, OperationArgs, OperationName, OperationResult } from '../database.ts';
import { operations } from '../operations.ts';
import { type Sql, withSavepoints } from '../sql.ts';
import { QUERY_CANCELED } from '../sqlstates.ts';
import { statementLimitsMs } from '../statement-limits.ts';
import { connectionIsLost, databaseError, lostConnection } from './failure.ts';
import { clientOpener } from './server-hosts.ts';
import { listenOnServer } from './server-listen.ts';
import { compiled } from './wire-text.ts';

export type Server = { dsn: string; pooled: boolean; size: number; statementTimeoutMs: number };

/** Runs operations of this process on a server, over at most `size` connections. */
export function connectServer({ dsn, pooled, size, statementTimeoutMs }: Server): Database {
  const pool = openPool({ dsn, pooled, size });
  const notifications = listenOnServer(dsn);
  const underWay = new Set<Promise<unknown>>();
  let closed = false;
  return {
    kind: 'server',
    async execute<Name extends OperationName>(name: Name, args: OperationArgs<Name>, { limitMs }: ExecuteOptions = {}) {
      if (closed) throw new DatabaseError('Cannot ask the database: it is closed', '', false);
      const operation = operations[name] as (sql: Sql, args: OperationArgs<Name>) => Promise<OperationResult<Name>>;
      const running = operation(pool.sqlFor(limitMs ?? statementLimitsMs[name] ?? statementTimeoutMs), args);
      underWay.add(running);
      return running.finally(() => underWay.delete(running));
    },
    listen: async (channel, listener) => (pooled ? async () => {} : notifications.listen(channel, listener)),
    async close() {
      closed = true;
      await Promise.allSettled(underWay);
      await Promise.all([notifications.close(), pool.close()]);
    },
  };
}

export type Pool = {
  /** `limitMs`: how long each statement may take before it is cancelled and its connection discarded. */
  sqlFor(limitMs: number): Sql;
  /** Ends the connections: one in use when what runs on it is over. */
  close(): Promise<void>;
};

/**
 * `limitMs`: the statement timeout that was last set for this connection. `unanswered`: the statements that were sent, in that
 * order. `timer`: of the first of them.
 */
type Connection = {
  client: postgres.Sql;
  lost: boolean;
  limitMs: number;
  unanswered: Set<Unanswered>;
  timer?: NodeJS.Timeout;
};

/** `withdraw`: it is not sent any more, if it was not yet. */
type Unanswered = { mostMs: number; fail(error: DatabaseError): void; withdraw(): void };

/** For the driver to fail its queries itself, with the reason. */
const DRIVER_MS = 100;

/** The server cancels what takes too long; when it does not respond within this time either, the connection is discarded. */
const SLACK_MS = 5000;
const LONGEST_MS = 2 ** 31 - 1; // as timers and `statement_timeout` count

/** A connection without a statement for so long is closed. */
const IDLE_SECONDS = 60;

/** `login` overrides the one in the DSN. `idleSeconds` 0: a connection stays, as one whose transaction spans several calls must. */
type PoolOptions = Pick<Server, 'dsn' | 'pooled' | 'size'> & {
  login?: { user?: string; password?: string };
  slackMs?: number;
  idleSeconds?: number;
};

export function openPool({
  dsn,
  pooled,
  size,
  login = {},
  slackMs = SLACK_MS,
  idleSeconds = IDLE_SECONDS,
}: PoolOptions): Pool {
  const idle: Connection[] = [];
  const waiting: ((connection: Connection | null) => void)[] = [];
  const openClient = clientOpener(dsn);
  let connectionCount = 0;
  let isClosed = false;

  const newConnection = async (): Promise<Connection> => {
    const onclose = () => {
      connection.lost = true;
      // What postgres.js has not sent yet it would send over a new connection, outside the transaction: half of it would be committed.
      for (const { withdraw } of connection.unanswered) withdraw();
      // Whoever still waits will get no response: postgres.js forgets a query that is sent between the `error` and the `close` of its socket.
      setTimeout(() => failAll(connection, 'the connection was closed'), DRIVER_MS);
      const at = idle.indexOf(connection);
      if (at < 0) return; // in use: its user releases it
      idle.splice(at, 1);
      connectionCount -= 1;
    };
    const opened = await openClient({ ...login, prepare: !pooled, idle_timeout: idleSeconds, onclose });
    const connection: Connection = { client: opened, lost: false, limitMs: 0, unanswered: new Set() };
    return connection;
  };
  /** null to who waits: to open one in place of one that is lost. */
  const passOn = (connection: Connection | null) => {
    const next = waiting.shift();
    if (next) next(connection);
    else if (connection && !isClosed) idle.push(connection);
    else {
      connectionCount -= 1;
      void connection?.client.end({ timeout: 5 });
    }
  };
  const acquire = async (): Promise<Connection> => {
    const existing = idle.pop(); // the one used last, so that the others become idle and close
    if (existing) return existing;
    if (connectionCount < size) connectionCount += 1;
    else {
      const released = await new Promise<Connection | null>((resolve) => waiting.push(resolve));
      if (released) return released;
    }
    try {
      return await newConnection();
    } catch (error) {
      passOn(null);
      throw error;
    }
  };
  const release = (connection: Connection) => {
    if (connection.lost) void connection.client.end({ timeout: 0 });
    passOn(connection.lost ? null : connection);
  };
  const withConnection = async <T>(limitMs: number, work: (statements: Statements) => Promise<T>): Promise<T> => {
    const connection = await acquire();
    const statements = statementsOn(connection, pooled, Math.min(limitMs + slackMs, LONGEST_MS));
    try {
      if (!pooled && connection.limitMs !== limitMs) {
        await statements.script(`set statement_timeout = ${Math.min(limitMs, LONGEST_MS)}`);
        connection.limitMs = limitMs;
      }
      return await work(statements);
    } finally {
      release(connection);
    }
  };
  const sqlFor = (limitMs: number): Sql => ({
    kind: 'server',
    rows: (sql) => withConnection(limitMs, ({ rows }) => rows(sql)),
    script: (text) => withConnection(limitMs, ({ script }) => script(text)),
    transaction: (work) => withConnection(limitMs, (statements) => inTransaction(statements, work)),
  });
  return {
    sqlFor,
    async close() {
      isClosed = true;
      const unused = idle.splice(0);
      connectionCount -= unused.length;
      await Promise.all(unused.map(({ client }) => client.end({ timeout: 5 })));
    },
  };
}

/** A lost connection would reconnect by itself, outside the transaction: so it is refused here, and discarded on release. */
async function onConnection<T>(connection: Connection, mostMs: number, send: () => Query<T>): Promise<T> {
  if (connection.lost) throw lostConnection('the connection is lost');
  let waiting: Unanswered | undefined;
  let query: Query<T> | undefined;
  let isWithdrawn = false;
  try {
    const failure = new Promise<never>((_resolve, fail) => {
      const withdraw = () => {
        isWithdrawn = true;
        query?.cancel();
      };
      waiting = { mostMs, fail, withdraw };
      connection.unanswered.add(waiting);
      if (connection.unanswered.size === 1) limitNext(connection);
    });
    query = send();
    return await Promise.race([query, failure]);
  } catch (error) {
    if (connectionIsLost(error)) connection.lost = true;
    if (isWithdrawn && isCancelled(error)) throw lostConnection('the connection was closed');
    throw databaseError(error);
  } finally {
    if (waiting) connection.unanswered.delete(waiting);
    limitNext(connection);
  }
}

type Query<T> = PromiseLike<T> & { cancel(): void };

const isCancelled = (error: unknown) => (error as { code?: unknown }).code === QUERY_CANCELED;

/** Responses come in the order of the statements: the time of one begins when the one before it has its response. */
function limitNext(connection: Connection): void {
  clearTimeout(connection.timer);
  const [next] = connection.unanswered;
  if (!next) return;
  connection.timer = setTimeout(() => {
    connection.lost = true;
    failAll(connection, 'no answer came in time');
  }, next.mostMs);
}

function failAll({ unanswered }: Connection, reason: string): void {
  for (const { fail } of [...unanswered]) fail(lostConnection(reason));
}

type Statements = Omit<Sql, 'transaction'> & { discard(): void };

/** The statements of one connection; `discard`: it is not used again. */
const statementsOn = (connection: Connection, pooled: boolean, mostMs: number): Statements => ({
  kind: 'server',
  async rows<Row extends Record<string, unknown>>(sql: SQL) {
    const { text, parameters } = compiled(sql);
    const options = { prepare: !pooled, simple: false };
    const query = () => connection.client.unsafe<Row[]>(text, parameters, options);
    return Array.from(await onConnection(connection, mostMs, query)) as Row[];
  },
  async script(text) {
    await onConnection(connection, mostMs, () => connection.client.unsafe(text));
  },
  discard: () => {
    connection.lost = true;
  },
});

async function inTransaction<T>(statements: Statements, work: (tx: Sql) => Promise<T>): Promise<T> {
  const { script, discard } = statements;
  await script('begin');
  try {
    const result = await work(withSavepoints(statements));
    await script('commit');
    return result;
  } catch (error) {
    await script('rollback').catch(discard);
    throw error;
  }
}
