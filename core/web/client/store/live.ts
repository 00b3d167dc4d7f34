/** The events of the service, from one stream for all tabs of this browser; a hidden tab has none, and catches up when it is shown. */
import { effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Event } from '../../../model/event.ts';
import { basePath, hrefOf } from '../base.ts';
import { readStream } from './live-stream.ts';
import { type LiveState, type LiveTab, liveTab } from './live-tab.ts';
import { anotherToken, token } from './token.ts';
import { checkVersion } from './version.ts';

const state = signal<LiveState>('connecting');
export const liveState: ReadonlySignal<LiveState> = state;

const count = signal(0);
/** How many events this tab got. */
export const eventCount: ReadonlySignal<number> = count;

/** Those that came before anything could: what they read meanwhile may be older than the stream. */
const early = new Set<(event: Event) => void>();
const listeners = new Set<(event: Event) => void>();
let current: LiveTab | null = null;

/**
 * Gets the events from now on; `reset` means to read everything again. A listener that registers before it reads misses nothing: where
 * the stream opens only afterwards, it gets a `reset` then. Pings are left out.
 * @returns stops
 */
export function onEvent(listener: (event: Event) => void): () => void {
  listeners.add(listener);
  if ((current?.lastId() ?? null) === null) early.add(listener);
  return () => {
    listeners.delete(listener);
    early.delete(listener);
  };
}

/** Follows the token and the visibility of the page. */
export function startLive(): void {
  effect(() => {
    const bearer = token.value;
    current?.leave();
    for (const listener of listeners) early.add(listener); // a stream begins anew
    void openTab(bearer).then((tab) => {
      if (token.peek() !== bearer) return;
      current = tab;
      followVisibility();
    });
  });
  document.addEventListener('visibilitychange', followVisibility);
  addEventListener('pagehide', () => current?.leave());
  addEventListener('pageshow', followVisibility);
}

function followVisibility(): void {
  if (document.visibilityState === 'visible') current?.join();
  else current?.leave();
}

async function openTab(bearer: string | null): Promise<LiveTab> {
  const shared = await sharing(bearer);
  let openings = 0;
  const tab = liveTab({
    shared,
    tab: `${Date.now()}-${Math.random()}`,
    readStream: (reader, signal) => readStream((lastId, aborted) => connect(bearer, lastId, aborted), reader, signal),
    onState: (next) => {
      state.value = next;
      if (next !== 'live') return;
      const id = tab.lastId();
      if (id !== null) for (const listener of early) notify(listener, { event: 'reset', id, data: {} });
      early.clear();
      openings += 1;
      if (openings > 1) void checkVersion();
    },
    onEvent: (event) => {
      count.value += 1;
      for (const listener of listeners) notify(listener, event);
    },
  });
  return tab;
}

/** One that throws keeps no other from its event. */
function notify(listener: (event: Event) => void, event: Event): void {
  try {
    listener(event);
  } catch (error) {
    reportError(error);
  }
}

async function connect(bearer: string | null, lastId: string | null, signal: AbortSignal): Promise<Response> {
  const response = await fetch(hrefOf('/v1/events'), {
    headers: {
      accept: 'text/event-stream',
      ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
      ...(lastId !== null && { 'last-event-id': lastId }),
    },
    cache: 'no-store',
    signal,
  });
  if (response.status === 401) void anotherToken(bearer); // which makes a stream of its own
  return response;
}

/** Tabs share a stream when they have the same token; who has none gets no events of who has. */
async function sharing(bearer: string | null) {
  if (!('locks' in navigator) || !('BroadcastChannel' in globalThis)) return null;
  const name = `svc-events ${basePath} ${bearer === null ? '' : await digest(bearer)}`;
  return {
    requestLock: (run: () => Promise<void>, signal: AbortSignal) => navigator.locks.request(name, { signal }, run),
    openChannel: () => new BroadcastChannel(name),
  };
}

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
