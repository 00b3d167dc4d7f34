/** How does any thread ask the database? Through a connection that the thread which opened it hands out. */
import type { MessagePort } from 'node:worker_threads';
import { DatabaseError } from '../../errors.ts';
import type { Database, ExecuteOptions, OperationArgs, OperationName, OperationResult } from '../database.ts';
import { patience } from '../operations.ts';
import { endedDatabase, errorOf, lostConnection, tookTooLong } from './failure.ts';
import type { Doing, Notice, PortReply, Wish } from './ports.ts';
import { connectServer } from './server.ts';

/** Plain data but for the port, which has to be transferred: `startWorker(name, { connection }, transferables(connection))`. */
export type DatabaseConnection =
  | { kind: 'server'; dsn: string; pooled: boolean; askTimeoutMs: number }
  | { kind: 'embedded'; control: MessagePort; askTimeoutMs: number };

export const transferables = (connection: DatabaseConnection): MessagePort[] =>
  connection.kind === 'embedded' ? [connection.control] : [];

/** A thread other than the opener's needs few connections of its own. */
const THREAD_POOL = 4;

/** Closing it closes this thread's part only. */
export const connectDatabase = (connection: DatabaseConnection): Database =>
  connection.kind === 'server' ? connectServer({ ...connection, size: THREAD_POOL }) : holder(connection);

type Pending = { wish: Wish; resolve(answer: unknown): void; reject(error: Error): void };

/**
 * Asks go straight to the database thread. When that thread is replaced, those under way fail as transient, a fresh port comes
 * over the control port by itself, and those asked meanwhile wait for it.
 */
function holder({ control, askTimeoutMs }: Extract<DatabaseConnection, { kind: 'embedded' }>): Database {
  let port: MessagePort | undefined;
  let closed = false;
  let count = 0;
  const pending = new Map<number, Pending>();
  const listeners = new Map<string, Set<(payload: string) => void>>();
  let drained = () => {};

  const ask = (wish: (ask: number) => Wish) =>
    new Promise<unknown>((resolve, reject) => {
      if (closed) throw new DatabaseError('Cannot ask the database: it is closed', '', false);
      count += 1;
      const asked = { wish: wish(count), resolve, reject };
      port?.postMessage(asked.wish); // throws on what cannot be cloned
      pending.set(count, asked);
    });
  const settled = (number: number) => {
    const asked = pending.get(number);
    pending.delete(number);
    if (pending.size === 0) drained();
    return asked;
  };
  const hear = (reply: PortReply) => {
    if ('channel' in reply) for (const heard of listeners.get(reply.channel) ?? []) heard(reply.payload);
    else if ('failure' in reply) settled(reply.ask)?.reject(errorOf(reply.failure));
    else settled(reply.ask)?.resolve(reply.answer);
  };
  const lose = (why: string, doing?: Doing) => {
    port?.close();
    port = undefined;
    for (const [number, { wish }] of [...pending]) {
      const guilty = doing !== undefined && 'label' in wish && wish.label === doing.label && wish.label !== wish.name;
      settled(number)?.reject(guilty ? (doing.late ? tookTooLong() : endedDatabase()) : lostConnection(why));
    }
  };
  control.on('message', (notice: Notice) => {
    if ('port' in notice) {
      port = notice.port;
      port.on('message', hear);
      for (const { wish } of pending.values()) port.postMessage(wish); // asked while there was no port
      for (const channel of listeners.keys()) ask((ask) => ({ ask, listen: channel })).catch(() => undefined);
    } else if ('lost' in notice) {
      lose(notice.lost, notice.doing);
    } else {
      closed = true;
      lose('it is closed');
      control.close();
    }
  });

  return {
    kind: 'embedded',
    execute: <Name extends OperationName>(
      name: Name,
      args: OperationArgs<Name>,
      { limitMs, label = name, owner = null }: ExecuteOptions = {},
    ) =>
      ask((ask) => ({ ask, name, args, limitMs: limitMs ?? patience[name] ?? askTimeoutMs, label, owner })) as Promise<
        OperationResult<Name>
      >,
    async listen(channel, heard) {
      const known = listeners.get(channel);
      const mine = known ?? new Set<typeof heard>();
      mine.add(heard);
      listeners.set(channel, mine);
      if (!known) await ask((ask) => ({ ask, listen: channel }));
      return async () => {
        mine.delete(heard);
        if (mine.size > 0 || listeners.get(channel) !== mine) return;
        listeners.delete(channel);
        if (port && !closed) await ask((ask) => ({ ask, unlisten: channel }));
      };
    },
    async close() {
      if (closed) return;
      closed = true;
      if (pending.size > 0) await new Promise<void>((resolve) => (drained = resolve));
      port?.close();
      control.close();
    },
  };
}
