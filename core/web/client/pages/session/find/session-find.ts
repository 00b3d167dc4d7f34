/** What is looked for in the session on screen, what the service has found of it so far, and which of it the reader is at. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { FindLine, SessionMatch } from '../../../../../model/find.ts';
import { mayReadAgain } from '../../../store/read-again.ts';
import { foundKey } from './found.ts';

/** `places` as the route has them; '': the usual ones. */
export type Sought = { text: string; places: string };

/** `found` is one array that grows, and another one after a session has grown; each state of it has its own object around it. */
export type FindState = {
  sought: Sought;
  found: readonly SessionMatch[];
  searched: number; // spans
  of: number;
  complete: boolean;
};

/** Where the reader is. Each time it is gone to it is another object. */
export type FoundAt = { found: SessionMatch };

export type SessionFind = {
  isOpen: Signal<boolean>;
  state: ReadonlySignal<FindState | null>; // null: nothing is looked for
  failure: ReadonlySignal<unknown>;
  at: Signal<FoundAt | null>;
  /** The span that the reader looks at; -1: not known. Talk sets it. */
  readerAt: { current: () => number };
  seek: (sought: Sought) => void;
  /** Looks again for the same. */
  again: () => void;
  /** The session has other steps than before: looks again, and shows the result once it is whole. Where the reader is stays. */
  grown: () => void;
  close: () => void;
};

export type ReadFound = (sought: Sought, onLines: (lines: FindLine[]) => void, signal: AbortSignal) => Promise<void>;

const PAUSE_MS = 80; // between two states: to draw each line as it comes would delay the rest

export function sessionFind(read: ReadFound): SessionFind {
  const state = signal<FindState | null>(null);
  const failure = signal<unknown>(null);
  const at = signal<FoundAt | null>(null);
  let last: Sought = { text: '', places: '' };
  let running: AbortController | null = null;
  let isStale = false; // the session has grown since the search began
  let isPausing = false; // a search is under way, or has just ended

  /** @param before what is shown meanwhile, and afterwards as far as it is found again; null: what comes is shown as it comes */
  const run = async (sought: Sought, { signal }: AbortController, before: FindState | null): Promise<void> => {
    const found: SessionMatch[] = [];
    const known = new Map(before?.found.map((one) => [keyOf(one), one]));
    let progress = { searched: 0, of: 0, complete: false };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const publish = () => {
      clearTimeout(timer);
      timer = undefined;
      if (signal.aborted || (before && !progress.complete)) return;
      const isSame = before?.found.length === found.length && found.every((one, n) => one === before.found[n]);
      state.value = { sought, found: isSame ? before.found : found, ...progress };
    };
    publish();
    try {
      await read(
        sought,
        (lines) => {
          const isFirst = found.length === 0 && !before;
          for (const line of lines) {
            if ('match' in line) found.push(known.get(keyOf(line)) ?? line);
            else progress = line;
          }
          if (isFirst && found.length > 0) {
            publish();
            performance.mark('svc:find-first');
          } else timer ??= setTimeout(publish, PAUSE_MS);
        },
        signal,
      );
      publish();
      performance.mark('svc:find-complete');
    } catch (thrown) {
      publish();
      if (!signal.aborted && !before) failure.value = thrown; // else what was found before is still shown
    }
  };
  const look = async (before: FindState | null): Promise<void> => {
    const own = new AbortController();
    running = own;
    isStale = false;
    isPausing = true;
    const began = performance.now();
    await run(last, own, before);
    await mayReadAgain(began);
    if (own.signal.aborted) return;
    isPausing = false;
    if (isStale) grown();
  };
  const grown = () => {
    isStale = true;
    if (!isPausing && state.value?.complete) void look(state.value);
  };
  const again = () => {
    running?.abort();
    failure.value = null;
    at.value = null;
    state.value = null;
    if (last.text !== '') void look(null);
  };
  return {
    ...{ isOpen: signal(false), state, failure, at, readerAt: { current: () => -1 }, again, grown },
    seek: (sought) => {
      if (last.text === sought.text && last.places === sought.places) return;
      last = sought;
      again();
    },
    close: () => running?.abort(),
  };
}

const keyOf = (one: SessionMatch): string => [one.trace_id, one.span_id, foundKey(one), one.match].join(' ');
