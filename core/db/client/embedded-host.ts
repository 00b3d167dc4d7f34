/** Who keeps the database thread alive? The thread that opened it: it starts, watches and restarts it, and hands out its ports. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, type TransferListItem, type Worker } from 'node:worker_threads';
import type { Logger } from '../../log.ts';
import type { DatabaseConnection } from './connection.ts';
import { isMade } from './data-folder.ts';
import { errorOf } from './failure.ts';
import { gaugeMemory, openGauge } from './gauge.ts';
import type { Doing, Notice, Order, ThreadReport } from './ports.ts';
import type { DatabaseThread } from './serve-operations.ts';

export type StartThread = (data: DatabaseThread, transfer: TransferListItem[]) => Worker;

/**
 * PostgreSQL refuses what nests too deeply before its stack is full, but measures another stack than the one that fills here: with less
 * than this, a deep value breaks the engine, which then gives wrong answers.
 */
export const THREAD_LIMITS = { stackSizeMb: 64 };

type Deps = { folder: string; log: Logger; askTimeoutMs: number; startThread: StartThread };

export type EmbeddedHost = { connection(): DatabaseConnection; close(): Promise<void> };

/** Between attempts to start the thread that fail. */
const RETRY_MS = 1000;

export async function hostEmbedded({ folder, log, askTimeoutMs, startThread }: Deps): Promise<EmbeddedHost> {
  const memory = gaugeMemory();
  const gauge = openGauge(memory, Date.now);
  const holders = new Set<MessagePort>();
  let thread: Worker | undefined;
  let ending: Promise<unknown> | undefined;
  let restarting: Promise<void> | undefined;
  let closing = false;

  const tell = (holder: MessagePort, notice: Notice, transfer: MessagePort[] = []) =>
    holder.postMessage(notice, transfer);
  const introduce = (holder: MessagePort) => {
    if (!thread) return; // told when there is one
    const { port1, port2 } = new MessageChannel();
    thread.postMessage({ holder: port1 } satisfies Order, [port1]);
    tell(holder, { port: port2 }, [port2]);
  };
  const opened = async () => {
    gauge.end();
    const started = startThread({ folder, gauge: memory }, []);
    await untilReady(started);
    return started;
  };
  const start = async () => {
    const started = await opened();
    started.once('exit', () => {
      if (!closing) restarting = restart('its thread ended', doing());
    });
    started.on('error', (error) => log.error({ error: error.message }, 'the database thread failed'));
    thread = started;
    for (const holder of holders) introduce(holder);
  };
  const doing = (): Doing | undefined => {
    const running = gauge.running();
    return running && { label: running.question, late: running.ms >= running.limitMs };
  };
  const restart = async (why: string, what: Doing | undefined): Promise<void> => {
    thread = undefined;
    for (const holder of holders) tell(holder, { lost: why, doing: what });
    log.error({ why, question: what?.label }, 'the database thread is started again');
    while (!closing) {
      try {
        return await start();
      } catch (error) {
        log.error({ error: (error as Error).message }, 'the database thread does not start');
        for (const holder of holders) tell(holder, { lost: 'its thread does not start', doing: undefined });
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  const watch = () => {
    const running = gauge.running();
    if (!thread || !running || running.ms < running.limitMs) return;
    log.error(
      { question: running.question, ms: running.ms },
      'a question takes too long: the database thread is ended',
    );
    ending = thread.terminate(); // its exit restarts it
    thread = undefined;
  };

  // Making a database takes 500 MB that a thread gives back only when it ends.
  if (!isMade(folder)) await closed(await opened());
  await start();
  const watchdog = setInterval(watch, Math.min(1000, askTimeoutMs / 4)).unref();

  return {
    connection() {
      const { port1, port2 } = new MessageChannel();
      holders.add(port1);
      port1.on('close', () => holders.delete(port1));
      port1.unref();
      introduce(port1);
      return { kind: 'embedded', control: port2, askTimeoutMs };
    },
    async close() {
      closing = true;
      await ending;
      await restarting;
      if (thread) await closed(thread); // the watchdog ends a statement that never does
      clearInterval(watchdog);
      for (const holder of holders) {
        tell(holder, { closed: true });
        holder.close();
      }
    },
  };
}

async function closed(thread: Worker): Promise<void> {
  const ended = once(thread, 'exit');
  thread.postMessage({ close: true } satisfies Order);
  await ended;
}

async function untilReady(thread: Worker): Promise<void> {
  const report = await new Promise<ThreadReport>((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('Cannot open the embedded database: its thread ended')));
  }).finally(() => thread.removeAllListeners());
  if ('ready' in report) return;
  thread.on('error', () => {}); // what it says while it is ended
  await thread.terminate();
  throw 'failed' in report ? errorOf(report.failed) : new Error('Cannot open the embedded database: its thread ended');
}
