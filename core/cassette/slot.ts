/** The life cycle of one source on the list: tried until it is admitted, refreshed while it is, and closed when it leaves the list. */
import { setTimeout as sleep } from 'node:timers/promises';
import { traceOf } from '../http/failure.ts';
import type { Logger } from '../log.ts';
import { openBackoff } from '../retry.ts';
import { type AdmissionParts, admit, digestOfSource } from './admission/admission.ts';
import { refreshed } from './admission/refresh.ts';
import type { Installed, Trouble } from './installed.ts';
import type { ListEntry } from './list/list.ts';
import { Rejection, type RunningCassette } from './running.ts';
import { keepSchedule } from './schedule.ts';
import {
  type InForce,
  installedOf,
  isSameNews,
  nextState,
  PENDING,
  type SlotEvent,
  type SlotState,
} from './slot-state.ts';

export type Slot = {
  entry: ListEntry;
  installed(): Installed;
  /** The running cassette; null while nothing runs. */
  running(): RunningCassette | null;
  /** Settles when it has been tried for the first time, admitted or not, or is withdrawn before. */
  tried: Promise<void>;
  /** Aborts when the grace time of readers is over. */
  gone: AbortSignal;
  /** Sends it no new requests; those under way have `graceMs` to finish. */
  withdraw(graceMs: number): Promise<void>;
};

export type SlotParts = AdmissionParts & {
  now: () => number;
  /** The pause between two tries, doubling; `refreshMs`: between two refreshes once it is admitted. */
  retryMs: { first: number; most: number };
  refreshMs: number;
};

export function openSlot(entry: ListEntry, parts: SlotParts): Slot {
  const log: Logger = parts.log.child({ cassette: entry.name });
  const leaving = new AbortController();
  const gone = new AbortController();
  let triedOnce = () => {};
  const tried = new Promise<void>((resolve) => {
    triedOnce = resolve;
  });
  const instant = () => `${new Date(parts.now()).toISOString().slice(0, 19)}Z`;

  let state: SlotState = PENDING;
  let since = instant();
  let lastRun: Installed['last_run'] = null;
  let schedule: { stop(): Promise<void> } | null = null;

  const take = (event: SlotEvent) => {
    const previous = state;
    state = nextState(previous, event);
    if (state.name !== previous.name) since = instant();
    if (!isSameNews(previous, state)) logState(state, log);
    triedOnce();
  };
  const troubleOf = (error: unknown): Trouble => {
    const { step, message, problems } =
      error instanceof Rejection
        ? error
        : new Rejection('start', 'Cannot admit it: an error of the service, which its log has');
    if (!(error instanceof Rejection)) log.error(traceOf(error), 'a cassette could not be looked at');
    return { step, reason: message, problems, observed_at: instant() };
  };

  /** Also settles when it is withdrawn. */
  const untilAdmitted = async (): Promise<void> => {
    const { first, most } = parts.retryMs;
    const backoff = openBackoff({ firstMs: first, maxMs: most });
    let finalDigest: string | null = null; // the digest of the code that is not tried again
    while (!leaving.signal.aborted) {
      if (finalDigest === null || finalDigest !== (await digestOfSource(entry, parts))) {
        try {
          const admitted = await admit(entry, parts, leaving.signal);
          if (leaving.signal.aborted) return admitted.running.close(0);
          // At once, so that a withdrawal finds it and closes it.
          return take({ kind: 'admitted', admitted: { ...admitted, at: instant() } });
        } catch (error) {
          if (leaving.signal.aborted) return;
          take({ kind: 'refused', trouble: troubleOf(error) });
          finalDigest = error instanceof Rejection && error.final ? await digestOfSource(entry, parts) : null;
        }
      }
      await pause(backoff.next(), leaving.signal);
    }
  };

  const scheduleFor = ({ running, manifest }: InForce) => {
    const { every_seconds, on_change } = manifest.schedule ?? {};
    if (!running.loaded?.scheduled || every_seconds === undefined) return null;
    return keepSchedule({
      name: entry.name,
      everyMs: every_seconds * 1000,
      run: (event) => running.scheduled(event),
      databases: parts.databases,
      changed: on_change ? (parts.databases?.changes ?? null) : null,
      now: parts.now,
      ran: (run) => {
        lastRun = run;
        if (run.error !== null) log.warn({ reason: run.error }, 'background work of a cassette failed');
      },
    });
  };

  const refresh = async (admitted: InForce): Promise<void> => {
    try {
      take({ kind: 'refreshed', document: await refreshed(entry, admitted) });
    } catch (error) {
      take({ kind: 'refresh-failed', trouble: troubleOf(error) });
    }
  };

  /** Settles when it is withdrawn, or has to be admitted anew. */
  const keepAdmitted = async ({ running }: InForce): Promise<void> => {
    const outdated = new AbortController();
    void running.outdated?.then((why) => outdated.abort(why));
    const awake = AbortSignal.any([leaving.signal, outdated.signal]);
    for (;;) {
      await pause(parts.refreshMs, awake);
      if (leaving.signal.aborted) return;
      if (outdated.signal.aborted) {
        take({ kind: 'outdated', trouble: troubleOf(outdated.signal.reason) });
        await Promise.all([schedule?.stop(), running.close(0)]);
        schedule = null;
        return;
      }
      if (state.admitted) await refresh(state.admitted);
    }
  };

  const untilWithdrawn = async () => {
    while (!leaving.signal.aborted) {
      await untilAdmitted();
      const { admitted } = state;
      if (!admitted || leaving.signal.aborted) return;
      schedule = scheduleFor(admitted);
      await keepAdmitted(admitted);
    }
  };
  const life = untilWithdrawn();

  return {
    entry,
    running: () => (leaving.signal.aborted ? null : (state.admitted?.running ?? null)),
    tried,
    gone: gone.signal,
    installed: () => installedOf({ entry, state, since, lastRun, now: instant() }),
    async withdraw(graceMs) {
      leaving.abort();
      triedOnce();
      const cut = setTimeout(() => gone.abort(), graceMs);
      try {
        await schedule?.stop();
        await state.admitted?.running.close(graceMs);
        await life;
      } finally {
        clearTimeout(cut);
        gone.abort();
      }
    },
  };
}

const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal, ref: false }).catch(() => {});

function logState({ name, admitted, trouble }: SlotState, log: Logger): void {
  if (trouble) {
    const { step, reason, problems } = trouble;
    log.warn({ state: name, step, reason, problems }, 'a cassette is not admitted');
  } else log.info({ state: name, digest: admitted?.source_digest }, 'a cassette is admitted');
}
