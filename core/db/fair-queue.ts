/**
 * A queue of jobs that run one at a time on behalf of several owners: owners take turns, and those with long jobs together get about
 * half of the time. Jobs without an owner are the service's own: they go first, and are never throttled.
 *
 * Each job has a turn of the event loop of its own. Node delivers up to 1,000 messages of one port before it looks at another
 * (nodejs/node#29315): while one sender keeps up with jobs that block the thread, those of all others would not even arrive.
 */
import { openThrottle } from './throttle.ts';

export type FairQueue = {
  /** @param owner null: the service @throws what `work` throws */
  run<T>(owner: string | null, work: () => Promise<T>): Promise<T>;
  /** Rejects what owners have waiting. */
  refuseWaiting(error: Error): void;
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>;
};

/** See `openThrottle`. */
type Options = { freeMs: number; mostMs: number; now?: () => number };

type Job = { start: () => Promise<void>; refuse: (error: Error) => void; since: number };

/** An owner's job that has waited so long goes before the service's next one. */
const OVERDUE_MS = 250;

export function openFairQueue({ freeMs, mostMs, now = () => performance.now() }: Options): FairQueue {
  const service: Job[] = [];
  const owned = new Map<string, Job[]>(); // in the order of turns
  const throttle = openThrottle({ freeMs, mostMs, now });
  let pumping = false; // a job runs, or is about to
  let ownersTurn = false;
  let wakeTimer: NodeJS.Timeout | undefined;
  const idleWaiters: (() => void)[] = [];

  const next = (): { owner: string | null; job: Job } | undefined => {
    const owner = [...owned.keys()].find((one) => !throttle.isThrottled(one));
    const overdue = owner !== undefined && ownersTurn && now() - (owned.get(owner)?.[0]?.since ?? 0) > OVERDUE_MS;
    const serviceJob = overdue ? undefined : service.shift();
    if (serviceJob) return { owner: null, job: serviceJob };
    const job = owner === undefined ? undefined : takeJob(owned, owner);
    return owner !== undefined && job ? { owner, job } : undefined;
  };
  const pump = () => {
    if (pumping) return;
    pumping = true;
    setImmediate(runNext);
  };
  const runNext = async () => {
    clearTimeout(wakeTimer);
    const selected = next();
    if (selected) await execute(selected.owner, selected.job);
    pumping = false;
    if (selected) pump();
    else if (owned.size > 0) wakeTimer = setTimeout(pump, Math.max(1, throttle.waitMs()));
    else for (const resolve of idleWaiters.splice(0)) resolve();
  };
  const execute = async (owner: string | null, job: Job) => {
    ownersTurn = owner === null;
    const began = now();
    await job.start();
    if (owner !== null) throttle.charge(owner, now() - began);
  };

  return {
    run: (owner, work) =>
      new Promise((resolve, reject) => {
        const job = { start: () => work().then(resolve, reject), refuse: reject, since: now() };
        if (owner === null) service.push(job);
        else owned.set(owner, [...(owned.get(owner) ?? []), job]);
        pump();
      }),
    refuseWaiting(error) {
      const waiting = [...owned.values()].flat();
      owned.clear();
      for (const { refuse } of waiting) refuse(error);
      pump();
    },
    idle: () =>
      new Promise((resolve) => {
        idleWaiters.push(resolve);
        pump();
      }),
  };
}

/** The owner's first job; what else it has waits behind all others. */
function takeJob(owned: Map<string, Job[]>, owner: string): Job | undefined {
  const [job, ...others] = owned.get(owner) ?? [];
  owned.delete(owner);
  if (others.length > 0) owned.set(owner, others);
  return job;
}
