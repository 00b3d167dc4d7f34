/** What runs in the database thread? PGlite, and the questions that holders of its ports ask; none of them sees the statements. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { migrate, readMigrations } from '../migrate.ts';
import type { Sql } from '../sql.ts';
import { type Embedded, openEmbedded } from './embedded.ts';
import { lostConnection, plainFailure } from './failure.ts';
import { openGauge } from './gauge.ts';
import type { Order, PortReply, ThreadReport, Wish } from './ports.ts';

export type DatabaseThread = { folder: string; gauge: SharedArrayBuffer };

type Question = (sql: Sql, args: never) => Promise<unknown>;

export async function serveQuestions(questions: Readonly<Record<string, Question>>): Promise<void> {
  if (!parentPort) throw new Error('Cannot serve questions: this is no worker thread');
  const host = parentPort;
  const report = (what: ThreadReport) => host.postMessage(what);
  const { folder, gauge } = workerData as DatabaseThread;
  let embedded: Embedded;
  try {
    embedded = await openEmbedded(folder, openGauge(gauge, Date.now), async (sql) => {
      await migrate(sql, await readMigrations());
    });
  } catch (error) {
    report({ failed: plainFailure(error) });
    host.close();
    return;
  }
  const thread: Thread = { embedded, questions, underWay: new Set(), closing: false };
  const close = async () => {
    thread.closing = true;
    embedded.refuseWaiting(lostConnection('it is closing'));
    while (thread.underWay.size > 0) await Promise.all(thread.underWay);
    await embedded.close();
    report({ closed: true });
    process.exit(0); // of this thread
  };
  host.on('message', (order: Order) => {
    if ('holder' in order) serveHolder(thread, order.holder);
    else void close();
  });
  report({ ready: true });
}

type Thread = {
  embedded: Embedded;
  questions: Readonly<Record<string, Question>>;
  underWay: Set<Promise<void>>;
  closing: boolean;
};

function serveHolder(thread: Thread, port: MessagePort) {
  const reply = (what: PortReply) => port.postMessage(what);
  const listening = new Map<string, ReturnType<Embedded['listen']>>();

  const answer = (wish: Wish): Promise<unknown> => {
    if (thread.closing) throw lostConnection('it is closing');
    if ('listen' in wish) return listen(wish.listen);
    if ('unlisten' in wish) return unlisten(wish.unlisten);
    const { name, args, limitMs, label, owner } = wish;
    const question = Object.hasOwn(thread.questions, name) ? thread.questions[name] : undefined;
    if (!question) throw new Error(`Cannot answer '${name}': there is no such question`);
    return question(thread.embedded.sqlFor(label, limitMs, owner), args as never);
  };
  const listen = async (channel: string) => {
    const started = listening.get(channel) ?? thread.embedded.listen(channel, (payload) => reply({ channel, payload }));
    listening.set(channel, started); // a holder that got a fresh port may wish it twice
    await started;
  };
  const unlisten = async (channel: string) => {
    const stop = await listening.get(channel);
    listening.delete(channel);
    await stop?.();
  };
  const grant = async (wish: Wish) => {
    try {
      reply({ ask: wish.ask, answer: await answer(wish) });
    } catch (error) {
      reply({ ask: wish.ask, failure: plainFailure(error) });
      if (error instanceof WebAssembly.RuntimeError) process.exit(1); // the engine is broken: the host starts another
    }
  };
  port.on('message', (wish: Wish) => {
    const granted = grant(wish).finally(() => thread.underWay.delete(granted));
    thread.underWay.add(granted);
  });
  port.on('close', () => {
    for (const channel of listening.keys()) unlisten(channel).catch(() => undefined);
  });
}
