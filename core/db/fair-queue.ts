/**
 * A queue of jobs that run one at a time on behalf of several owners: owners take turns, and those with long jobs together get about
 * half of the time. Jobs without an owner are the service's own: they go first, and are never throttled.
 */

export type FairQueue = {
  /** @param owner null: the service @throws what `work` throws */
  run<T>(owner: string | null, work: () => Promise<T>): Promise<T>;
  /** Rejects what owners have waiting. */
  refuseWaiting(error: Error): void;
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>;
};

type Options = {
  /** The free time of one job; the time beyond it is charged, up to `mostMs`. */
  freeMs: number;
  mostMs: number;
  now?: () => number;
};

type Job = { start: () => Promise<void>; refuse: (error: Error) => void; since: number };

/** How long an owner that was charged shares one budget with all others that were. */
const HEAVY_MS = 60_000;
/** An owner's job that has waited so long goes before the service's next one. */
const OVERDUE_MS = 250;

export function openFairQueue({ freeMs, mostMs, now = () => performance.now() }: Options): FairQueue {
  const service: Job[] = [];
  const owned = new Map<string, Job[]>(); // in the order of turns
  const heavyUntil = new Map<string, number>();
  let throttledUntil = 0;
  let busy = false;
  let ownersTurn = false;
  let wakeTimer: NodeJS.Timeout | undefined;
  const idleWaiters: (() => void)[] = [];

  const charge = (owner: string, ms: number) => {
    const charged = Math.min(mostMs, ms - freeMs);
    if (charged <= 0) return;
    heavyUntil.set(owner, now() + HEAVY_MS);
    throttledUntil = Math.max(throttledUntil, now()) + charged;
  };
  const isThrottled = (owner: string): boolean => {
    if ((heavyUntil.get(owner) ?? 0) > now()) return throttledUntil > now();
    heavyUntil.delete(owner);
    return false;
  };
  const nextOwner = (): string | undefined => {
    for (const owner of owned.keys()) if (!isThrottled(owner)) return owner;
    return undefined;
  };
  const takeJob = (owner: string): Job | undefined => {
    const [job, ...others] = owned.get(owner) ?? [];
    owned.delete(owner);
    if (others.length > 0) owned.set(owner, others); // behind the others
    return job;
  };
  const next = (): { owner: string | null; job: Job } | undefined => {
    const owner = nextOwner();
    const overdue = owner !== undefined && ownersTurn && now() - (owned.get(owner)?.[0]?.since ?? 0) > OVERDUE_MS;
    const serviceJob = overdue ? undefined : service.shift();
    if (serviceJob) return { owner: null, job: serviceJob };
    const job = owner === undefined ? undefined : takeJob(owner);
    return owner !== undefined && job ? { owner, job } : undefined;
  };
  const pump = () => {
    clearTimeout(wakeTimer);
    if (busy) return;
    const selected = next();
    if (selected) void execute(selected.owner, selected.job);
    else if (owned.size > 0) wakeTimer = setTimeout(pump, Math.max(1, throttledUntil - now()));
    else for (const resolve of idleWaiters.splice(0)) resolve();
  };
  const execute = async (owner: string | null, job: Job) => {
    busy = true;
    ownersTurn = owner === null;
    const began = now();
    await job.start();
    if (owner !== null) charge(owner, now() - began);
    busy = false;
    pump();
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
