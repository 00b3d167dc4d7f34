/** The host of the database thread: starts, watches and restarts it, and gives its ports to the holders of connections. */
import { once } from 'node:events';
import type { TransferListItem, Worker } from 'node:worker_threads';
import type { Logger } from '../../log.ts';
import { logMigration } from '../log-migration.ts';
import type { DatabaseConnection } from './connection.ts';
import { isMade } from './data-folder.ts';
import { errorOf } from './failure.ts';
import { gaugeMemory, type MeasuredOperation, openGauge, type ReadableGauge } from './gauge.ts';
import { openHolders } from './holders.ts';
import type { DatabaseThread, HostCommand, RunningOperation, ThreadReport } from './ports.ts';

export type StartThread = (data: DatabaseThread, transfer: TransferListItem[]) => Worker;

type Deps = {
  folder: string;
  log: Logger;
  statementTimeoutMs: number;
  startThread: StartThread;
  /** What a new database is copied from; null: it is created. */
  template: string | null;
};

export type EmbeddedHost = { connection(): DatabaseConnection; close(): Promise<void> };

/** Between failed attempts to start the thread. */
const RETRY_MS = 1000;

export async function hostEmbedded(deps: Deps): Promise<EmbeddedHost> {
  const { folder, log, statementTimeoutMs, startThread, template } = deps;
  const memory = gaugeMemory();
  const gauge = openGauge(memory);
  const holders = openHolders();
  let thread: Worker | undefined;
  let ending: Promise<unknown> | undefined;
  let restarting: Promise<void> | undefined;
  let closing = false;

  const openThread = async () => {
    gauge.end();
    const started = startThread({ folder, gauge: memory, template }, []);
    await untilReady(started, logMigration(log));
    return started;
  };
  const start = async () => {
    const started = await openThread();
    started.once('exit', () => {
      if (!closing) restarting = restart('its thread ended', runningIn(gauge));
    });
    started.on('error', (error) => log.error({ error: error.message }, 'the database thread failed'));
    thread = started;
    holders.sendPorts(started);
  };
  const restart = async (why: string, interrupted: RunningOperation | undefined): Promise<void> => {
    thread = undefined;
    holders.notify({ lost: why, doing: interrupted });
    log.error({ why, operation: interrupted?.label }, 'the database thread is started again');
    while (!closing) {
      try {
        return await start();
      } catch (error) {
        log.error({ error: (error as Error).message }, 'the database thread does not start');
        holders.notify({ lost: 'its thread does not start', doing: undefined });
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  const watchMs = Math.min(1000, statementTimeoutMs / 4);
  let watched = { began: 0, ms: 0, at: 0 };
  /** How long an operation has run while this process ran: the clock of macOS goes on while the machine sleeps. */
  const watchedMs = ({ began, ms }: MeasuredOperation): number => {
    const now = performance.now();
    const more = Math.min(began === watched.began ? now - watched.at : ms, 2 * watchMs);
    watched = { began, ms: (began === watched.began ? watched.ms : 0) + more, at: now };
    return watched.ms;
  };
  const watch = () => {
    const running = gauge.running();
    if (!thread || !running || watchedMs(running) < running.limitMs) return;
    log.error(
      { operation: running.operation, ms: running.ms },
      'an operation takes too long: the database thread is ended',
    );
    ending = thread.terminate(); // its exit restarts it
    thread = undefined;
  };

  // Creating a database takes 500 MB that a thread releases only when it ends.
  if (template === null && !isMade(folder)) await closed(await openThread());
  await start();
  const watchdog = setInterval(watch, watchMs).unref();

  return {
    connection: () => ({ kind: 'embedded', control: holders.open(thread), statementTimeoutMs }),
    async close() {
      closing = true;
      await ending;
      await restarting;
      if (thread) await closed(thread); // the watchdog ends a statement that never ends
      clearInterval(watchdog);
      holders.close();
    },
  };
}

/** What the thread was running when it ended. */
function runningIn(gauge: ReadableGauge): RunningOperation | undefined {
  const running = gauge.running();
  return running && { label: running.operation, late: running.ms >= running.limitMs };
}

async function closed(thread: Worker): Promise<void> {
  const ended = once(thread, 'exit');
  thread.postMessage({ close: true } satisfies HostCommand);
  await ended;
}

async function untilReady(thread: Worker, onMigration: (name: string) => void): Promise<void> {
  const report = await new Promise<ThreadReport>((resolve, reject) => {
    thread.on('message', (report: ThreadReport) => {
      if ('migrating' in report) onMigration(report.migrating);
      else resolve(report);
    });
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('Cannot open the embedded database: its thread ended')));
  }).finally(() => thread.removeAllListeners());
  if ('ready' in report) return;
  thread.on('error', () => {}); // errors while it is being ended
  await thread.terminate();
  throw 'failed' in report ? errorOf(report.failed) : new Error('Cannot open the embedded database: its thread ended');
}
