/**
 * A queue for what runs one at a time on behalf of several owners: each has its turn, and those who take long together get about half
 * of the time. Work of nobody in particular is the service's own: it goes first, and is never made to wait for what others cost.
 */

export type FairQueue = {
  /** @param owner null: the service @throws what `work` throws */
  run<T>(owner: string | null, work: () => Promise<T>): Promise<T>;
  /** What waits of owners is given up. */
  refuseWaiting(error: Error): void;
  /** When nothing runs or waits. */
  idle(): Promise<void>;
};

type Options = {
  /** What of one piece of work is free; the rest is charged, up to so much. */
  freeMs: number;
  mostMs: number;
  now?: () => number;
};

type Job = { start: () => Promise<void>; refuse: (error: Error) => void; since: number };

/** Who was charged shares one budget with all others who were, for so long. */
const HEAVY_MS = 60_000;
/** Owners come in between when the service always has something to do. */
const OVERDUE_MS = 250;

export function openFairQueue({ freeMs, mostMs, now = () => performance.now() }: Options): FairQueue {
  const service: Job[] = [];
  const owned = new Map<string, Job[]>(); // in the order of turns
  const heavyUntil = new Map<string, number>();
  let restUntil = 0;
  let busy = false;
  let ownersTurn = false;
  let waking: NodeJS.Timeout | undefined;
  const idlers: (() => void)[] = [];

  const charge = (owner: string, ms: number) => {
    const charged = Math.min(mostMs, ms - freeMs);
    if (charged <= 0) return;
    heavyUntil.set(owner, now() + HEAVY_MS);
    restUntil = Math.max(restUntil, now()) + charged;
  };
  const rests = (owner: string): boolean => {
    if ((heavyUntil.get(owner) ?? 0) > now()) return restUntil > now();
    heavyUntil.delete(owner);
    return false;
  };
  const nextOwner = (): string | undefined => {
    for (const owner of owned.keys()) if (!rests(owner)) return owner;
    return undefined;
  };
  const takeOf = (owner: string): Job | undefined => {
    const [job, ...others] = owned.get(owner) ?? [];
    owned.delete(owner);
    if (others.length > 0) owned.set(owner, others); // behind the others
    return job;
  };
  const next = (): { owner: string | null; job: Job } | undefined => {
    const owner = nextOwner();
    const overdue = owner !== undefined && ownersTurn && now() - (owned.get(owner)?.[0]?.since ?? 0) > OVERDUE_MS;
    const ours = overdue ? undefined : service.shift();
    if (ours) return { owner: null, job: ours };
    const job = owner === undefined ? undefined : takeOf(owner);
    return owner !== undefined && job ? { owner, job } : undefined;
  };
  const pump = () => {
    clearTimeout(waking);
    if (busy) return;
    const chosen = next();
    if (chosen) void started(chosen.owner, chosen.job);
    else if (owned.size > 0) waking = setTimeout(pump, Math.max(1, restUntil - now()));
    else for (const resolve of idlers.splice(0)) resolve();
  };
  const started = async (owner: string | null, job: Job) => {
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
        idlers.push(resolve);
        pump();
      }),
  };
}
