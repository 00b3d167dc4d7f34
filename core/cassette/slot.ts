/** The life cycle of one source on the list: tried until it is admitted, refreshed while it is, and closed when it leaves the list. */
import { setTimeout as sleep } from 'node:timers/promises';
import { traceOf } from '../http/failure.ts';
import type { Logger } from '../log.ts';
import { openBackoff } from '../retry.ts';
import { type AdmissionParts, type Admitted, admit, digestOfSource } from './admission/admission.ts';
import { refreshed } from './admission/refresh.ts';
import type { AdmissionState, Installed, Trouble } from './installed.ts';
import type { ListEntry } from './list/list.ts';
import { Rejection, type RunningCassette } from './running.ts';
import { keepSchedule } from './schedule.ts';

export type Slot = {
  entry: ListEntry;
  installed(): Installed;
  /** The running cassette; null while nothing runs. */
  running(): RunningCassette | null;
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
  const { now, retryMs, refreshMs } = parts;
  const log: Logger = parts.log.child({ cassette: entry.name });
  const leaving = new AbortController();
  const gone = new AbortController();
  const instant = () => `${new Date(now()).toISOString().slice(0, 19)}Z`;

  let state: AdmissionState = 'pending';
  let since = instant();
  let admitted: Admitted | null = null;
  let admitted_at: string | null = null;
  let trouble: Trouble | null = null;
  let lastRun: Installed['last_run'] = null;
  let schedule: { stop(): Promise<void> } | null = null;

  const enter = (next: AdmissionState, why: Trouble | null) => {
    if (next !== state) since = instant();
    const previous = JSON.stringify([state, trouble?.step, trouble?.reason]);
    state = next;
    trouble = why;
    if (previous !== JSON.stringify([state, why?.step, why?.reason])) {
      if (why) log.warn({ state, step: why.step, reason: why.reason, problems: why.problems }, 'a cassette is not in');
      else log.info({ state, digest: admitted?.source_digest }, 'a cassette is in');
    }
  };
  const troubleOf = (error: unknown): Trouble => {
    const { step, message, problems } =
      error instanceof Rejection ? error : new Rejection('start', 'Cannot take it: the service failed over it');
    if (!(error instanceof Rejection)) log.error(traceOf(error), 'a cassette could not be looked at');
    return { step, reason: message, problems, observed_at: instant() };
  };
  const pause = (ms: number, signal = leaving.signal) => sleep(ms, undefined, { signal, ref: false }).catch(() => {});

  const untilAdmitted = async (): Promise<void> => {
    let finalDigest: string | null = null; // the digest of the code that is not tried again
    const backoff = openBackoff({ firstMs: retryMs.first, maxMs: retryMs.most });
    while (!leaving.signal.aborted) {
      if (finalDigest !== null && finalDigest === (await digestOfSource(entry, parts))) {
        await pause(backoff.next());
        continue;
      }
      try {
        const result = await admit(entry, parts, leaving.signal);
        if (leaving.signal.aborted) return result.running.close(0);
        admitted = result;
        admitted_at = instant();
        enter('admitted', null);
        return;
      } catch (error) {
        if (leaving.signal.aborted) return;
        const why = troubleOf(error);
        enter(why.step === 'resolve' ? 'unresolved' : 'rejected', why);
        finalDigest = error instanceof Rejection && error.final ? await digestOfSource(entry, parts) : null;
      }
      await pause(backoff.next());
    }
  };
  /** Settles when it is withdrawn, or has to be admitted anew. */
  const live = async (): Promise<void> => {
    await untilAdmitted();
    if (!admitted || leaving.signal.aborted) return;
    const { running, manifest } = admitted;
    const outdated = new AbortController();
    void running.outdated?.then((why) => outdated.abort(why));
    const awake = AbortSignal.any([leaving.signal, outdated.signal]);
    const every = manifest.schedule?.every_seconds;
    if (running.loaded?.scheduled && every !== undefined)
      schedule = keepSchedule({
        name: entry.name,
        everyMs: every * 1000,
        run: (event) => running.scheduled(event),
        databases: parts.databases,
        changed: manifest.schedule?.on_change ? (parts.databases?.changes ?? null) : null,
        now,
        ran: (run) => {
          lastRun = run;
          if (run.error !== null) log.warn({ reason: run.error }, 'background work of a cassette failed');
        },
      });
    while (!leaving.signal.aborted) {
      await pause(refreshMs, awake);
      if (leaving.signal.aborted) return;
      if (outdated.signal.aborted) return await dropOutdated(outdated.signal.reason as Rejection);
      try {
        const document = await refreshed(entry, admitted);
        if (document) admitted = { ...admitted, document };
        if (document || state !== 'admitted') enter('admitted', null);
      } catch (error) {
        enter('stale', troubleOf(error));
      }
    }
  };
  const dropOutdated = async (why: Rejection): Promise<void> => {
    const { running } = admitted as Admitted;
    admitted = null;
    enter('pending', troubleOf(why));
    await Promise.all([schedule?.stop(), running.close(0)]);
    schedule = null;
  };
  const untilWithdrawn = async () => {
    while (!leaving.signal.aborted) await live();
  };
  const life = untilWithdrawn();

  return {
    entry,
    running: () => (leaving.signal.aborted ? null : (admitted?.running ?? null)),
    gone: gone.signal,
    installed() {
      const liveness = admitted?.running.liveness() ?? null;
      const isDegraded = state === 'admitted' && liveness !== null && liveness.state !== 'up';
      return {
        entry,
        isolation: entry.isolation ?? (/^https?:\/\//i.test(entry.source) ? 'remote' : 'process'),
        state: isDegraded ? 'stale' : state,
        since: liveness?.since !== undefined && liveness.since > since ? liveness.since : since,
        admitted_at: state === 'admitted' || state === 'stale' ? admitted_at : null,
        trouble: isDegraded
          ? {
              step: 'start',
              reason: liveness.reason ?? 'it is started again',
              problems: [],
              observed_at: liveness.since ?? instant(),
            }
          : trouble,
        confinement: admitted?.running.confinement ?? null,
        liveness,
        source_digest: admitted?.source_digest ?? null,
        document: admitted?.document ?? null,
        last_run: lastRun,
        progress: admitted?.running.progress() ?? null,
      };
    },
    async withdraw(graceMs) {
      leaving.abort();
      const cut = setTimeout(() => gone.abort(), graceMs);
      try {
        await schedule?.stop();
        await admitted?.running.close(graceMs);
        await life;
      } finally {
        clearTimeout(cut);
        gone.abort();
      }
    },
  };
}
