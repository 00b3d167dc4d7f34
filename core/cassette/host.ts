/** The host of cassettes: one slot for each entry of the list in effect. An edited entry is withdrawn and admitted anew. */
import { createHash } from 'node:crypto';
import { aborted } from '../aborted.ts';
import { Refusal } from '../errors.ts';
import { canonicalJson } from '../merkle/canonical-json.ts';
import { cassetteUnknown } from './cassette-unknown.ts';
import type { Installed } from './installed.ts';
import { type ListEntry, listDigest } from './list/list.ts';
import { type Mounted, type MountLimits, mounted } from './mount.ts';
import type { RunningCassette } from './running.ts';
import { openSlot, type Slot, type SlotParts } from './slot.ts';

export type ListInEffect = {
  entries: readonly ListEntry[];
  /** When it was read, in RFC 3339. */
  loaded_at: string;
  /** What is wrong with the list as it is now; the one in effect is the last good one. */
  problem: string | null;
  /** The folder that an entry's relative source starts from. */
  folderOf(entry: ListEntry): string;
};

/** A request from outside, to be forwarded to a cassette. */
export type CassetteRequest = Pick<Mounted, 'request' | 'caller' | 'requestId' | 'peer' | 'cut'>;

export type CassetteHost = {
  /** The state of each entry of the list, sorted by name. Disabled entries are not tried and not shown. */
  installed(): Installed[];
  list(): { digest: string; count: number; loaded_at: string; problem: string | null };
  /** Changes whenever another document, or another set of documents, is served. */
  version(): string;
  /** Puts a list into effect: the first, and each edited one. Settles when the cassettes that left the list have been closed. */
  apply(list: ListInEffect): Promise<void>;
  /** While the cassette is tried for the first time, the request waits, up to 10 s. @throws {Refusal} cassette-unknown, and as `mounted` */
  answer(name: string, call: CassetteRequest): Promise<Response>;
  /** Requests one of its own paths, on behalf of no caller: for its tools. @throws {Refusal} as above */
  fetch(name: string, request: Request): Promise<Response>;
  close(graceMs: number): Promise<void>;
};

export type HostParts = Omit<SlotParts, 'base' | 'names' | 'retryMs' | 'refreshMs'> &
  Partial<Pick<SlotParts, 'retryMs' | 'refreshMs'>> & { limits?: MountLimits; basePath?: string };

/** Streams of a cassette that was taken off the list have this time to end by themselves; then they are cut. */
const GRACE_MS = 10_000;
const RETRY_MS = { first: 1_000, most: 30_000 };
const REFRESH_MS = 30_000;
/** A service that has just started gets requests before its cassettes are in: `svc serve & svc export`. Most are within 3 s. */
const FIRST_TRY_MS = 10_000;

export function openHost(parts: HostParts): CassetteHost {
  const slots = new Map<string, { slot: Slot; key: string }>();
  const withdrawals = new Set<Promise<void>>();
  let effect: ListInEffect = { entries: [], loaded_at: '', problem: null, folderOf: () => '' };

  const shown = () => [...slots.values()].map(({ slot }) => slot.installed());
  const byName = (one: Installed, other: Installed) => (one.entry.name < other.entry.name ? -1 : 1);
  const open = (entry: ListEntry, base: string): Slot =>
    openSlot(entry, {
      ...parts,
      base,
      names: () => effect.entries.map(({ name }) => name),
      retryMs: parts.retryMs ?? RETRY_MS,
      refreshMs: parts.refreshMs ?? REFRESH_MS,
    });
  const withdraw = (slot: Slot, graceMs: number) => {
    const ending = slot
      .withdraw(graceMs)
      .catch((error: Error) =>
        parts.log.warn({ cassette: slot.entry.name, reason: error.message }, 'while withdrawing'),
      )
      .finally(() => withdrawals.delete(ending));
    withdrawals.add(ending);
    return ending;
  };

  const runningSlot = (name: string): { slot: Slot; running: RunningCassette; shown: Installed } => {
    const slot = slots.get(name)?.slot;
    if (!slot) throw cassetteUnknown();
    const running = slot.running();
    const shown = slot.installed();
    if (!running || !shown.document)
      throw new Refusal(
        'cassette-unavailable',
        `Cannot answer: the cassette "${name}" is ${shown.state}${shown.trouble ? `; GET /v1/cassettes says why` : ''}`,
      );
    return { slot, running, shown };
  };

  return {
    installed: () => shown().sort(byName),
    list: () => ({
      digest: listDigest(effect.entries),
      count: effect.entries.filter(({ enabled }) => enabled).length,
      loaded_at: effect.loaded_at,
      problem: effect.problem,
    }),
    version: () =>
      createHash('sha256')
        .update(
          JSON.stringify(
            shown()
              .sort(byName)
              .map(({ entry, document }) => [entry.name, document?.openapi_digest ?? null]),
          ),
        )
        .digest('hex'),
    async apply(list) {
      effect = list;
      const wanted = new Map(list.entries.filter(({ enabled }) => enabled).map((entry) => [entry.name, entry]));
      const gone: Promise<void>[] = [];
      for (const [name, { slot, key }] of slots) {
        const entry = wanted.get(name);
        if (entry && keyOf(entry, list) === key) continue;
        slots.delete(name);
        gone.push(withdraw(slot, GRACE_MS));
      }
      for (const [name, entry] of wanted)
        if (!slots.has(name)) slots.set(name, { slot: open(entry, list.folderOf(entry)), key: keyOf(entry, list) });
      await Promise.all(gone);
    },
    async answer(name, call) {
      const absent = slots.get(name)?.slot;
      if (absent?.running() === null) {
        const deadline = AbortSignal.any([call.request.signal, AbortSignal.timeout(FIRST_TRY_MS)]);
        await Promise.race([absent.tried, aborted(deadline)]).catch(() => {});
      }
      const { slot, running, shown } = runningSlot(name);
      const { manifest } = shown.document as NonNullable<Installed['document']>;
      const forwardAuth = manifest.bindings.forward_auth && slot.entry.grants.bindings.includes('forward_auth');
      const { basePath = '', limits } = parts;
      return mounted({ ...call, name, basePath, manifest, running, forwardAuth, gone: slot.gone }, limits);
    },
    async fetch(name, request) {
      const { slot, running } = runningSlot(name);
      const signal = AbortSignal.any([request.signal, slot.gone]);
      return running.fetch(new Request(request, { signal }));
    },
    async close(graceMs) {
      const all = [...slots.values()].map(({ slot }) => withdraw(slot, graceMs));
      slots.clear();
      await Promise.all([...all, ...withdrawals]);
    },
  };
}

/** Changes whenever the entry has to be admitted anew. */
const keyOf = (entry: ListEntry, list: ListInEffect): string => canonicalJson([entry, list.folderOf(entry)]);
