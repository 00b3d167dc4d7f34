/** Connections to the database, for any thread: the thread that opened the database passes them on. */
import type { MessagePort } from 'node:worker_threads';
import { DatabaseError } from '../../errors.ts';
import type { Database, ExecuteOptions, OperationArgs, OperationName, OperationResult } from '../database.ts';
import type { PartitionInterval } from '../partition/partitions.ts';
import { statementLimitsMs } from '../statement-limits.ts';
import { channelListeners } from './channel-listeners.ts';
import { endedDatabase, errorOf, lostConnection, tookTooLong } from './failure.ts';
import { pendingRequests } from './pending-requests.ts';
import type { HostNotice, PortReply, PortRequest, RunningOperation } from './ports.ts';

/** `storage.distributed`. */
export type Distribution = '' | 'citus';

/** Plain data except for the port, which has to be transferred: `startWorker(name, { connection }, transferables(connection))`. */
export type DatabaseConnection =
  | {
      kind: 'server';
      dsn: string;
      pooled: boolean;
      distributed: Distribution;
      partitioned: PartitionInterval;
      statementTimeoutMs: number;
      size?: number;
    }
  | { kind: 'embedded'; control: MessagePort; statementTimeoutMs: number };

export const transferables = (connection: DatabaseConnection): MessagePort[] =>
  connection.kind === 'embedded' ? [connection.control] : [];

/** Another thread than the opener's needs few connections of its own, unless its `size` says otherwise. */
const THREAD_POOL = 4;

/** Its `close` closes this thread's connection only. Loads the client of a server, and all operations, only for a server. */
export async function connectDatabase(connection: DatabaseConnection): Promise<Database> {
  if (connection.kind === 'embedded') return holder(connection);
  const { connectServer } = await import('./server.ts');
  return connectServer({ size: THREAD_POOL, ...connection });
}

/**
 * Requests go straight to the database thread. When that thread is replaced, pending ones fail as transient, a new port arrives
 * over the control port, and requests that are made meanwhile wait for it.
 */
function holder({ control, statementTimeoutMs }: Extract<DatabaseConnection, { kind: 'embedded' }>): Database {
  let port: MessagePort | undefined;
  let closed = false;
  const pending = pendingRequests();
  const listeners = channelListeners();

  const post = (request: PortRequest) => {
    if (closed) throw new DatabaseError('Cannot ask the database: it is closed', '', false);
    port?.postMessage(request); // throws on what cannot be cloned
  };
  const send = (requestFor: (id: number) => PortRequest) => pending.send(requestFor, post);
  const onReply = (reply: PortReply) => {
    if ('channel' in reply) listeners.notify(reply.channel, reply.payload);
    else if ('failure' in reply) pending.reject(reply.id, errorOf(reply.failure));
    else pending.resolve(reply.id, reply.answer);
  };
  const failPending = (why: string, running?: RunningOperation) => {
    port?.close();
    port = undefined;
    for (const request of pending.requests()) pending.reject(request.id, lossOf(request, why, running));
  };
  control.on('message', (notice: HostNotice) => {
    if ('port' in notice) {
      port = notice.port;
      port.on('message', onReply);
      for (const request of pending.requests()) port.postMessage(request); // made while there was no port
      for (const channel of listeners.channels()) send((id) => ({ id, listen: channel })).catch(() => undefined);
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
    execute: <Name extends OperationName>(name: Name, args: OperationArgs<Name>, options?: ExecuteOptions) =>
      send((id) => ({ id, args, ...executionOf(name, statementTimeoutMs, options) })) as Promise<OperationResult<Name>>,
    async listen(channel, listener) {
      const { isFirst, remove } = listeners.add(channel, listener);
      if (isFirst) await send((id) => ({ id, listen: channel }));
      return async () => {
        if (remove() && port && !closed) await send((id) => ({ id, unlisten: channel }));
      };
    },
    async close() {
      if (closed) return;
      closed = true;
      await pending.drained();
      port?.close();
      control.close();
    },
  };
}

const executionOf = (
  name: OperationName,
  statementTimeoutMs: number,
  { limitMs, label = name, owner = null }: ExecuteOptions = {},
) => ({ name, limitMs: limitMs ?? statementLimitsMs[name] ?? statementTimeoutMs, label, owner });

/** Why a request failed with its thread: the one that was running, recognised by a label of its own, may have been the cause. */
function lossOf(request: PortRequest, why: string, running: RunningOperation | undefined): DatabaseError {
  const wasRunning =
    running !== undefined && 'label' in request && request.label === running.label && request.label !== request.name;
  if (!wasRunning) return lostConnection(why);
  return running.late ? tookTooLong() : endedDatabase();
}
