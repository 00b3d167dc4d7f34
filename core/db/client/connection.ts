/** Connections to the database, for any thread: the thread that opened the database passes them on. */
import type { MessagePort } from 'node:worker_threads';
import { DatabaseError } from '../../errors.ts';
import type { Database, ExecuteOptions, OperationArgs, OperationName, OperationResult } from '../database.ts';
import { statementLimitsMs } from '../operations.ts';
import { endedDatabase, errorOf, lostConnection, tookTooLong } from './failure.ts';
import type { HostNotice, PortReply, PortRequest, RunningOperation } from './ports.ts';
import { connectServer } from './server.ts';

/** Plain data except for the port, which has to be transferred: `startWorker(name, { connection }, transferables(connection))`. */
export type DatabaseConnection =
  | { kind: 'server'; dsn: string; pooled: boolean; statementTimeoutMs: number }
  | { kind: 'embedded'; control: MessagePort; statementTimeoutMs: number };

export const transferables = (connection: DatabaseConnection): MessagePort[] =>
  connection.kind === 'embedded' ? [connection.control] : [];

/** Another thread than the opener's needs few connections of its own. */
const THREAD_POOL = 4;

/** Its `close` closes this thread's connection only. */
export const connectDatabase = (connection: DatabaseConnection): Database =>
  connection.kind === 'server' ? connectServer({ ...connection, size: THREAD_POOL }) : holder(connection);

type Pending = { request: PortRequest; resolve(answer: unknown): void; reject(error: Error): void };

/**
 * Requests go straight to the database thread. When that thread is replaced, pending ones fail as transient, a new port arrives
 * over the control port, and requests that are made meanwhile wait for it.
 */
function holder({ control, statementTimeoutMs }: Extract<DatabaseConnection, { kind: 'embedded' }>): Database {
  let port: MessagePort | undefined;
  let closed = false;
  let lastId = 0;
  const pending = new Map<number, Pending>();
  const listeners = new Map<string, Set<(payload: string) => void>>();
  let onDrained = () => {};

  const send = (requestFor: (id: number) => PortRequest) =>
    new Promise<unknown>((resolve, reject) => {
      if (closed) throw new DatabaseError('Cannot ask the database: it is closed', '', false);
      lastId += 1;
      const entry = { request: requestFor(lastId), resolve, reject };
      port?.postMessage(entry.request); // throws on what cannot be cloned
      pending.set(lastId, entry);
    });
  const takePending = (number: number) => {
    const entry = pending.get(number);
    pending.delete(number);
    if (pending.size === 0) onDrained();
    return entry;
  };
  const onReply = (reply: PortReply) => {
    if ('channel' in reply) for (const listener of listeners.get(reply.channel) ?? []) listener(reply.payload);
    else if ('failure' in reply) takePending(reply.id)?.reject(errorOf(reply.failure));
    else takePending(reply.id)?.resolve(reply.answer);
  };
  const failPending = (why: string, running?: RunningOperation) => {
    port?.close();
    port = undefined;
    for (const [number, { request }] of [...pending]) {
      const wasRunning =
        running !== undefined &&
        'label' in request &&
        request.label === running.label &&
        request.label !== request.name;
      takePending(number)?.reject(wasRunning ? (running.late ? tookTooLong() : endedDatabase()) : lostConnection(why));
    }
  };
  control.on('message', (notice: HostNotice) => {
    if ('port' in notice) {
      port = notice.port;
      port.on('message', onReply);
      for (const { request } of pending.values()) port.postMessage(request); // made while there was no port
      for (const channel of listeners.keys()) send((id) => ({ id, listen: channel })).catch(() => undefined);
    } else if ('lost' in notice) {
      failPending(notice.lost, notice.doing);
    } else {
      closed = true;
      failPending('it is closed');
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
      send((id) => ({
        id,
        name,
        args,
        limitMs: limitMs ?? statementLimitsMs[name] ?? statementTimeoutMs,
        label,
        owner,
      })) as Promise<OperationResult<Name>>,
    async listen(channel, listener) {
      const existing = listeners.get(channel);
      const channelListeners = existing ?? new Set<typeof listener>();
      channelListeners.add(listener);
      listeners.set(channel, channelListeners);
      if (!existing) await send((id) => ({ id, listen: channel }));
      return async () => {
        channelListeners.delete(listener);
        if (channelListeners.size > 0 || listeners.get(channel) !== channelListeners) return;
        listeners.delete(channel);
        if (port && !closed) await send((id) => ({ id, unlisten: channel }));
      };
    },
    async close() {
      if (closed) return;
      closed = true;
      if (pending.size > 0) await new Promise<void>((resolve) => (onDrained = resolve));
      port?.close();
      control.close();
    },
  };
}
