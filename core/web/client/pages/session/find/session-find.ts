/** What is looked for in the session on screen, what the service has found of it so far, and which of it the reader is at. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { FindLine } from '../../../../../model/find.ts';
import type { Found } from './found.ts';

/** `places` as the route has them; '': the usual ones. */
export type Sought = { text: string; places: string };

/** `found` is one array that grows; each state of it has its own object around it. */
export type FindState = {
  sought: Sought;
  found: readonly Found[];
  searched: number; // spans
  of: number;
  complete: boolean;
};

/** Where the reader is. Each time it is gone to it is another object. */
export type FoundAt = { found: Found };

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

  const run = async (sought: Sought, { signal }: AbortController): Promise<void> => {
    const found: Found[] = [];
    let progress = { searched: 0, of: 0, complete: false };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const publish = () => {
      clearTimeout(timer);
      timer = undefined;
      if (signal.aborted) return;
      state.value = { sought, found, ...progress };
    };
    publish();
    try {
      await read(
        sought,
        (lines) => {
          const isFirst = found.length === 0;
          for (const line of lines) {
            if ('match' in line) found.push(line);
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
      if (!signal.aborted) failure.value = thrown;
    }
  };
  const again = () => {
    running?.abort();
    failure.value = null;
    at.value = null;
    state.value = null;
    if (last.text === '') return;
    running = new AbortController();
    void run(last, running);
  };
  return {
    ...{ isOpen: signal(false), state, failure, at, readerAt: { current: () => -1 }, again },
    seek: (sought) => {
      if (last.text === sought.text && last.places === sought.places) return;
      last = sought;
      again();
    },
    close: () => running?.abort(),
  };
}
