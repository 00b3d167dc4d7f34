/** How does a PostgreSQL server answer as our Sql? Through postgres.js, a client per connection, thrown away once it was lost. */
import type { SQL } from 'drizzle-orm';
import type postgres from 'postgres';
import { DatabaseError } from '../../errors.ts';
import type { Database, ExecuteOptions, OperationArgs, OperationName, OperationResult } from '../database.ts';
import { operations, patience } from '../operations.ts';
import type { Sql } from '../sql.ts';
import { connectionIsLost, databaseError, lostConnection } from './failure.ts';
import { client } from './server-client.ts';
import { listenOnServer } from './server-listen.ts';
import { compiled } from './wire-text.ts';

export type Server = { dsn: string; pooled: boolean; size: number; askTimeoutMs: number };

/** The questions of this process, asked of a server over at most `size` connections. */
export function connectServer({ dsn, pooled, size, askTimeoutMs }: Server): Database {
  const pool = openPool({ dsn, pooled, size });
  const ears = listenOnServer(dsn);
  const underWay = new Set<Promise<unknown>>();
  let closed = false;
  return {
    kind: 'server',
    async execute<Name extends OperationName>(name: Name, args: OperationArgs<Name>, { limitMs }: ExecuteOptions = {}) {
      if (closed) throw new DatabaseError('Cannot ask the database: it is closed', '', false);
      const question = operations[name] as (sql: Sql, args: OperationArgs<Name>) => Promise<OperationResult<Name>>;
      const asked = question(pool.sqlFor(limitMs ?? patience[name] ?? askTimeoutMs), args);
      underWay.add(asked);
      return asked.finally(() => underWay.delete(asked));
    },
    listen: async (channel, heard) => (pooled ? async () => {} : ears.listen(channel, heard)),
    async close() {
      closed = true;
      await Promise.allSettled(underWay);
      await Promise.all([ears.close(), pool.close()]);
    },
  };
}

export type Pool = {
  /** `limitMs`: what each statement may take before it is cancelled and its connection given up. */
  sqlFor(limitMs: number): Sql;
  close(): Promise<void>;
};

/** `limitMs`: what the server was last told for this connection. */
type Line = { client: postgres.Sql; lost: boolean; limitMs: number };

/** @param login in place of the address's own */
export function openPool({
  dsn,
  pooled,
  size,
  login = {},
}: Pick<Server, 'dsn' | 'pooled' | 'size'> & { login?: { user?: string; password?: string } }): Pool {
  const idle: Line[] = [];
  const waiting: ((line: Line) => void)[] = [];
  let lines = 0;

  const newLine = (): Line => {
    const onclose = () => {
      line.lost = true;
      const at = idle.indexOf(line);
      if (at < 0) return; // its user gives it back
      idle.splice(at, 1);
      lines -= 1;
    };
    const opened = client(dsn, { ...login, prepare: !pooled, idle_timeout: 60, onclose });
    const line: Line = { client: opened, lost: false, limitMs: 0 };
    return line;
  };
  const take = (): Promise<Line> | Line => {
    const line = idle.pop(); // the one used last, so that others grow idle and close
    if (line) return line;
    if (lines >= size) return new Promise((resolve) => waiting.push(resolve));
    lines += 1;
    return newLine();
  };
  const giveBack = (line: Line) => {
    if (line.lost) void line.client.end({ timeout: 0 });
    const next = waiting.shift();
    if (next) next(line.lost ? newLine() : line);
    else if (line.lost) lines -= 1;
    else idle.push(line);
  };
  const withLine = async <T>(limitMs: number, work: (line: Line) => Promise<T>): Promise<T> => {
    const line = await take();
    try {
      if (!pooled && line.limitMs !== limitMs) {
        await script(line, `set statement_timeout = ${Math.min(limitMs, LONGEST_MS)}`, limitMs);
        line.limitMs = limitMs;
      }
      return await work(line);
    } finally {
      giveBack(line);
    }
  };
  const begun = async <T>(line: Line, limitMs: number, work: (tx: Sql) => Promise<T>): Promise<T> => {
    await script(line, 'begin', limitMs);
    try {
      const result = await work(transactionSql(line, 1, pooled, limitMs));
      await script(line, 'commit', limitMs);
      return result;
    } catch (error) {
      await script(line, 'rollback', limitMs).catch(() => {
        line.lost = true;
      });
      throw error;
    }
  };
  const sqlFor = (limitMs: number): Sql => ({
    kind: 'server',
    rows: (sql) => withLine(limitMs, (line) => rows(line, sql, pooled, limitMs)),
    script: (text) => withLine(limitMs, (line) => script(line, text, limitMs)),
    transaction: (work) => withLine(limitMs, (line) => begun(line, limitMs, work)),
  });
  return {
    sqlFor,
    async close() {
      await Promise.all(idle.splice(0).map(({ client }) => client.end({ timeout: 5 })));
    },
  };
}

/** The server cancels what takes too long; when not even that is heard, the line is given up. */
const SLACK_MS = 5000;
const LONGEST_MS = 2 ** 31 - 1; // as timers and `statement_timeout` count

/** A lost line would reconnect by itself, outside the transaction: so it is refused here, and thrown away when given back. */
async function onLine<T>(line: Line, limitMs: number, query: () => PromiseLike<T>): Promise<T> {
  if (line.lost) throw lostConnection('the connection is lost');
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_resolve, reject) => {
      const giveUp = () => {
        line.lost = true;
        reject(lostConnection('no answer came in time'));
      };
      timer = setTimeout(giveUp, Math.min(limitMs + SLACK_MS, LONGEST_MS));
    });
    return await Promise.race([query(), late]);
  } catch (error) {
    if (connectionIsLost(error)) line.lost = true;
    throw databaseError(error);
  } finally {
    clearTimeout(timer);
  }
}

const rows = <Row extends Record<string, unknown>>(line: Line, sql: SQL, pooled: boolean, limitMs: number) => {
  const { text, parameters } = compiled(sql);
  const options = { prepare: !pooled, simple: false };
  return onLine(
    line,
    limitMs,
    async () => Array.from(await line.client.unsafe<Row[]>(text, parameters, options)) as Row[],
  );
};

const script = (line: Line, text: string, limitMs: number) =>
  onLine(line, limitMs, async () => void (await line.client.unsafe(text)));

function transactionSql(line: Line, depth: number, pooled: boolean, limitMs: number): Sql {
  const savepoint = `sp${depth}`;
  return {
    kind: 'server',
    rows: (sql) => rows(line, sql, pooled, limitMs),
    script: (text) => script(line, text, limitMs),
    async transaction(work) {
      await script(line, `savepoint ${savepoint}`, limitMs);
      try {
        const result = await work(transactionSql(line, depth + 1, pooled, limitMs));
        await script(line, `release savepoint ${savepoint}`, limitMs);
        return result;
      } catch (error) {
        await script(line, `rollback to savepoint ${savepoint}`, limitMs);
        throw error;
      }
    },
  };
}
