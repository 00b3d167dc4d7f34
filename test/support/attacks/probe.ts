import { Worker } from 'node:worker_threads';
import { residentBytes } from '../resident.ts';
import type { Service } from '../serve.ts';

export type Observed = { stallMs: number; failures: number; peakMib: number };

export type Probe = {
  /** Since the last call. */
  take(): Promise<Observed>;
  stop(): Promise<void>;
};

const EVERY_MS = 10;
const SAMPLE_MS = 50;
const MIB = 1_048_576;

/** @param url a path that the watched event loop answers at once */
export function openProbe(service: Service, url: string): Probe {
  const thread = new Worker(new URL('./stall-probe.mjs', import.meta.url), {
    workerData: { url, everyMs: EVERY_MS },
    execArgv: [],
  });
  const pids = Object.values(service.processes());
  const residentMib = () => Math.round(residentBytes(...pids) / MIB);
  let peakMib = residentMib();
  const sampling = setInterval(() => {
    peakMib = Math.max(peakMib, residentMib());
  }, SAMPLE_MS);
  return {
    async take() {
      const reply = new Promise<{ worstMs: number; failures: number }>((resolve) => thread.once('message', resolve));
      thread.postMessage('take');
      const { worstMs, failures } = await reply;
      const observed = { stallMs: Math.round(worstMs), failures, peakMib };
      peakMib = residentMib();
      return observed;
    },
    async stop() {
      clearInterval(sampling);
      const ended = new Promise((resolve) => thread.once('exit', resolve));
      thread.postMessage('stop');
      await ended;
    },
  };
}
