/**
 * The states of a slot, and the events that move it from one to the next.
 *
 * | state                    | what runs          | event            | next                                             |
 * | ------------------------ | ------------------ | ---------------- | ------------------------------------------------ |
 * | `pending`                | nothing            | `admitted`       | `admitted`                                       |
 * |                          |                    | `refused`        | `unresolved` at the step `resolve`, else `rejected` |
 * | `unresolved`, `rejected` | nothing            | the same as from `pending`, at each try               |
 * | `admitted`               | the cassette       | `refreshed`      | `admitted`, with the new document                |
 * |                          |                    | `refresh-failed` | `stale`                                          |
 * |                          |                    | `outdated`       | `pending`, with the reason                       |
 * | `stale`                  | the cassette       | the same as from `admitted`                           |
 *
 * slot.ts sends the events: admission the first two, the refreshes the next two, the supervision of the process the last. A slot that
 * is withdrawn gets no more of them. An `admitted` cassette whose process is not up is shown as `stale` (`installedOf`).
 */
import type { Admitted } from './admission/admission.ts';
import type { Installed, Trouble } from './installed.ts';
import type { ListEntry } from './list/list.ts';
import type { CassetteDocument } from './openapi/document.ts';

/** `at`: when it was admitted: RFC 3339, UTC. */
export type InForce = Admitted & { at: string };

export type SlotState =
  | { name: 'pending'; admitted: null; trouble: Trouble | null }
  | { name: 'unresolved' | 'rejected'; admitted: null; trouble: Trouble }
  | { name: 'admitted'; admitted: InForce; trouble: null }
  | { name: 'stale'; admitted: InForce; trouble: Trouble };

export type SlotEvent =
  | { kind: 'admitted'; admitted: InForce }
  | { kind: 'refused'; trouble: Trouble }
  /** null: the document is the same as before. */
  | { kind: 'refreshed'; document: CassetteDocument | null }
  | { kind: 'refresh-failed'; trouble: Trouble }
  | { kind: 'outdated'; trouble: Trouble };

export const PENDING: SlotState = { name: 'pending', admitted: null, trouble: null };

/** @throws {Error} the event cannot occur in that state */
export function nextState(state: SlotState, event: SlotEvent): SlotState {
  const { admitted } = state;
  if (!admitted) {
    if (event.kind === 'admitted') return { name: 'admitted', admitted: event.admitted, trouble: null };
    if (event.kind === 'refused') {
      const { trouble } = event;
      return { name: trouble.step === 'resolve' ? 'unresolved' : 'rejected', admitted: null, trouble };
    }
  } else {
    if (event.kind === 'refreshed') {
      const document = event.document ?? admitted.document;
      return { name: 'admitted', admitted: { ...admitted, document }, trouble: null };
    }
    if (event.kind === 'refresh-failed') return { name: 'stale', admitted, trouble: event.trouble };
    if (event.kind === 'outdated') return { name: 'pending', admitted: null, trouble: event.trouble };
  }
  throw new Error(`Cannot take the event '${event.kind}' in the state '${state.name}'`);
}

/** Whether operators would read the same of both: the time of a trouble is no news. */
export const isSameNews = (one: SlotState, other: SlotState): boolean =>
  one.name === other.name && one.trouble?.step === other.trouble?.step && one.trouble?.reason === other.trouble?.reason;

type Shown = { entry: ListEntry; state: SlotState; since: string; lastRun: Installed['last_run']; now: string };

/** The slot as it is shown outside. A process that is not up makes it stale, since that began. */
export function installedOf({ entry, state, since, lastRun, now }: Shown): Installed {
  const { admitted } = state;
  const liveness = admitted?.running.liveness() ?? null;
  const isDegraded = state.name === 'admitted' && liveness !== null && liveness.state !== 'up';
  return {
    entry,
    isolation: entry.isolation ?? (/^https?:\/\//i.test(entry.source) ? 'remote' : 'process'),
    state: isDegraded ? 'stale' : state.name,
    since: liveness?.since !== undefined && liveness.since > since ? liveness.since : since,
    admitted_at: admitted?.at ?? null,
    trouble: isDegraded
      ? {
          step: 'start',
          reason: liveness.reason ?? 'it is started again',
          problems: [],
          observed_at: liveness.since ?? now,
        }
      : state.trouble,
    confinement: admitted?.running.confinement ?? null,
    liveness,
    source_digest: admitted?.source_digest ?? null,
    document: admitted?.document ?? null,
    last_run: lastRun,
    progress: admitted?.running.progress() ?? null,
  };
}
