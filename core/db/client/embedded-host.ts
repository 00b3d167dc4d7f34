/** The host of the database thread: starts, watches and restarts it, and gives its ports to the holders of connections. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, type TransferListItem, type Worker } from 'node:worker_threads';
import type { Logger } from '../../log.ts';
import type { DatabaseConnection } from './connection.ts';
import { isMade } from './data-folder.ts';
import { errorOf } from './failure.ts';
import { gaugeMemory, openGauge } from './gauge.ts';
import type { HostCommand, HostNotice, RunningOperation, ThreadReport } from './ports.ts';
import type { DatabaseThread } from './serve-operations.ts';

export type StartThread = (data: DatabaseThread, transfer: TransferListItem[]) => Worker;

/**
 * PostgreSQL refuses too deep nesting before its stack overflows, but measures another stack than the one in use here. With a smaller
 * one, a deep value breaks the engine, which then gives wrong results.
 */
export const THREAD_LIMITS = { stackSizeMb: 64 };

type Deps = { folder: string; log: Logger; statementTimeoutMs: number; startThread: StartThread };

export type EmbeddedHost = { connection(): DatabaseConnection; close(): Promise<void> };

/** Between failed attempts to start the thread. */
const RETRY_MS = 1000;

export async function hostEmbedded({ folder, log, statementTimeoutMs, startThread }: Deps): Promise<EmbeddedHost> {
  const memory = gaugeMemory();
  const gauge = openGauge(memory, Date.now);
  const holders = new Set<MessagePort>();
  let thread: Worker | undefined;
  let ending: Promise<unknown> | undefined;
  let restarting: Promise<void> | undefined;
  let closing = false;

  const notify = (holder: MessagePort, notice: HostNotice, transfer: MessagePort[] = []) =>
    holder.postMessage(notice, transfer);
  const sendPort = (holder: MessagePort) => {
    if (!thread) return; // gets its port when there is one
    const { port1, port2 } = new MessageChannel();
    thread.postMessage({ holder: port1 } satisfies HostCommand, [port1]);
    notify(holder, { port: port2 }, [port2]);
  };
  const openThread = async () => {
    gauge.end();
    const started = startThread({ folder, gauge: memory }, []);
    await untilReady(started);
    return started;
  };
  const start = async () => {
    const started = await openThread();
    started.once('exit', () => {
      if (!closing) restarting = restart('its thread ended', runningOperation());
    });
    started.on('error', (error) => log.error({ error: error.message }, 'the database thread failed'));
    thread = started;
    for (const holder of holders) sendPort(holder);
  };
  const runningOperation = (): RunningOperation | undefined => {
    const running = gauge.running();
    return running && { label: running.operation, late: running.ms >= running.limitMs };
  };
  const restart = async (why: string, interrupted: RunningOperation | undefined): Promise<void> => {
    thread = undefined;
    for (const holder of holders) notify(holder, { lost: why, doing: interrupted });
    log.error({ why, question: interrupted?.label }, 'the database thread is started again');
    while (!closing) {
      try {
        return await start();
      } catch (error) {
        log.error({ error: (error as Error).message }, 'the database thread does not start');
        for (const holder of holders) notify(holder, { lost: 'its thread does not start', doing: undefined });
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  const watch = () => {
    const running = gauge.running();
    if (!thread || !running || running.ms < running.limitMs) return;
    log.error(
      { question: running.operation, ms: running.ms },
      'a question takes too long: the database thread is ended',
    );
    ending = thread.terminate(); // its exit restarts it
    thread = undefined;
  };

  // Creating a database takes 500 MB that a thread releases only when it ends.
  if (!isMade(folder)) await closed(await openThread());
  await start();
  const watchdog = setInterval(watch, Math.min(1000, statementTimeoutMs / 4)).unref();

  return {
    connection() {
      const { port1, port2 } = new MessageChannel();
      holders.add(port1);
      port1.on('close', () => holders.delete(port1));
      port1.unref();
      sendPort(port1);
      return { kind: 'embedded', control: port2, statementTimeoutMs };
    },
    async close() {
      closing = true;
      await ending;
      await restarting;
      if (thread) await closed(thread); // the watchdog ends a statement that never ends
      clearInterval(watchdog);
      for (const holder of holders) {
        notify(holder, { closed: true });
        holder.close();
      }
    },
  };
}

async function closed(thread: Worker): Promise<void> {
  const ended = once(thread, 'exit');
  thread.postMessage({ close: true } satisfies HostCommand);
  await ended;
}

async function untilReady(thread: Worker): Promise<void> {
  const report = await new Promise<ThreadReport>((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('Cannot open the embedded database: its thread ended')));
  }).finally(() => thread.removeAllListeners());
  if ('ready' in report) return;
  thread.on('error', () => {}); // errors while it is being ended
  await thread.terminate();
  throw 'failed' in report ? errorOf(report.failed) : new Error('Cannot open the embedded database: its thread ended');
}
