/** The database thread: runs PGlite, and the operations that holders of its ports request; statements stay in this thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { ensureInstallation } from '../installation.ts';
import { migrate } from '../migrate.ts';
import { readMigrations } from '../migrations.ts';
import type { Sql } from '../sql.ts';
import { type Embedded, openEmbedded } from './embedded.ts';
import { lostConnection, plainFailure } from './failure.ts';
import { openGauge } from './gauge.ts';
import type { DatabaseThread, HostCommand, PortReply, PortRequest, ThreadReport } from './ports.ts';

type Operation = (sql: Sql, args: never) => Promise<unknown>;

export async function serveOperations(operations: Readonly<Record<string, Operation>>): Promise<void> {
  if (!parentPort) throw new Error('Cannot serve the database: this is no worker thread');
  const host = parentPort;
  const report = (message: ThreadReport) => host.postMessage(message);
  const { folder, gauge, template } = (workerData as DatabaseThread | null) ?? (await toOpen(host));
  let embedded: Embedded;
  try {
    const prepare = async (sql: Sql) => {
      await migrate(sql, await readMigrations(), { begins: (migrating) => report({ migrating }) });
      await ensureInstallation(sql);
    };
    embedded = await openEmbedded(folder, openGauge(gauge), prepare, template);
  } catch (error) {
    report({ failed: plainFailure(error) });
    host.close();
    return;
  }
  const thread: Thread = { embedded, operations: operations, underWay: new Set(), closing: false };
  const close = async () => {
    thread.closing = true;
    embedded.refuseWaiting(lostConnection('it is closing'));
    while (thread.underWay.size > 0) await Promise.all(thread.underWay);
    await embedded.close();
    report({ closed: true });
    process.exit(0); // of this thread
  };
  host.on('message', (order: HostCommand) => {
    if ('holder' in order) serveHolder(thread, order.holder);
    else if ('close' in order) void close();
  });
  report({ ready: true });
}

/** The first message of a thread that was started early. Its listener stays, since a thread without one may end. */
const toOpen = (host: MessagePort): Promise<DatabaseThread> =>
  new Promise((opened) => {
    host.on('message', (order: HostCommand) => {
      if ('open' in order) opened(order.open);
    });
  });

type Thread = {
  embedded: Embedded;
  operations: Readonly<Record<string, Operation>>;
  underWay: Set<Promise<void>>;
  closing: boolean;
};

function serveHolder(thread: Thread, port: MessagePort) {
  const reply = (message: PortReply) => port.postMessage(message);
  const listening = new Map<string, ReturnType<Embedded['listen']>>();

  const handle = (request: PortRequest): Promise<unknown> => {
    if (thread.closing) throw lostConnection('it is closing');
    if ('listen' in request) return listen(request.listen);
    if ('unlisten' in request) return unlisten(request.unlisten);
    const { name, args, limitMs, label, owner } = request;
    const operation = Object.hasOwn(thread.operations, name) ? thread.operations[name] : undefined;
    if (!operation) throw new Error(`Cannot answer '${name}': there is no such operation`);
    return operation(thread.embedded.sqlFor(label, limitMs, owner), args as never);
  };
  const listen = async (channel: string) => {
    const started = listening.get(channel) ?? thread.embedded.listen(channel, (payload) => reply({ channel, payload }));
    listening.set(channel, started); // a holder that got a new port may request it twice
    await started;
  };
  const unlisten = async (channel: string) => {
    const stop = await listening.get(channel);
    listening.delete(channel);
    await stop?.();
  };
  const serve = async (request: PortRequest) => {
    try {
      reply({ id: request.id, answer: await handle(request) });
    } catch (error) {
      reply({ id: request.id, failure: plainFailure(error) });
      if (error instanceof WebAssembly.RuntimeError) process.exit(1); // the engine is broken: the host starts another
    }
  };
  port.on('message', (request: PortRequest) => {
    const served = serve(request).finally(() => thread.underWay.delete(served));
    thread.underWay.add(served);
  });
  port.on('close', () => {
    for (const channel of listening.keys()) unlisten(channel).catch(() => undefined);
  });
}
