/**
 * One tab's part in the stream that all tabs of a browser share. The tab that holds a lock reads the stream and passes events on over a
 * channel; when it goes, the next one takes over from the last event that it got itself. A tab that was away says which event it had
 * last, and gets what came since, or a `reset` where the leader does not know that any more.
 */
import type { Event } from '../../../model/event.ts';
import { eventHistory } from './event-history.ts';
import type { StreamReader } from './live-stream.ts';

export type LiveState = 'live' | 'connecting' | 'paused';

type Message =
  | { kind: 'event'; event: Event }
  | { kind: 'state'; state: LiveState }
  | { kind: 'lead' }
  | { kind: 'hello'; tab: string; after: string | null }
  | { kind: 'welcome'; tab: string; id: string; events: Event[]; complete: boolean };

export type TabChannel = Pick<BroadcastChannel, 'postMessage' | 'close' | 'onmessage'>;

export type LiveParts = {
  /** null: this browser shares nothing, so each tab has a stream of its own. */
  shared: {
    requestLock: (run: () => Promise<void>, signal: AbortSignal) => Promise<unknown>;
    openChannel: () => TabChannel;
  } | null;
  readStream: (reader: StreamReader, signal: AbortSignal) => Promise<void>;
  tab: string;
  onState: (state: LiveState) => void;
  onEvent: (event: Event) => void;
};

export type LiveTab = {
  /** The tab is visible: it leads or follows. */
  join(): void;
  /** The tab is hidden: it holds nothing. */
  leave(): void;
  lastId(): string | null;
};

const HELLO_MS = 1_000;
/** How long what the leader before sent may still be on its way. */
const LATE_MS = 50;

export function liveTab({ shared, readStream, tab, onState, onEvent }: LiveParts): LiveTab {
  const history = eventHistory();
  let joined: { away: AbortController; channel: TabChannel | null } | null = null;
  let role: 'waiting' | 'following' | 'leading' = 'waiting';
  let isOpen = false;
  let hello: ReturnType<typeof setTimeout> | undefined;

  const post = (message: Message) => joined?.channel?.postMessage(message);
  const deliver = (event: Event) => {
    if (history.add(event) && event.event !== 'ping') onEvent(event);
  };
  const show = (state: LiveState) => {
    if (role === 'leading') post({ kind: 'state', state });
    onState(state);
  };

  const lead = async (signal: AbortSignal) => {
    if (shared && history.lastId() !== null) await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    if (signal.aborted) return;
    role = 'leading';
    isOpen = false;
    clearTimeout(hello);
    await readStream(reader, signal);
  };
  let justConnected = false;
  let isLost = false;
  const reader: StreamReader = {
    lastId: history.lastId,
    onLost: () => {
      isLost = true;
      history.clear();
    },
    onOpen: () => {
      justConnected = true;
    },
    onEvent: (event) => {
      const anew: Event = { event: 'reset', id: event.id, data: {} };
      for (const each of isLost ? [anew, event] : [event]) {
        deliver(each);
        post({ kind: 'event', event: each });
      }
      isLost = false;
      isOpen = true;
      if (!justConnected) return;
      justConnected = false;
      post({ kind: 'lead' }); // each follower says what it had last: this tab may have come later than they
      show('live');
    },
    onInterrupted: () => show('connecting'),
  };

  const sayHello = () => {
    clearTimeout(hello);
    if (!joined || role === 'leading') return;
    role = 'waiting';
    post({ kind: 'hello', tab, after: history.lastId() });
    hello = setTimeout(sayHello, HELLO_MS); // until the leader is there and answers
  };
  const welcome = ({ tab: whose, after }: { tab: string; after: string | null }) => {
    const id = history.lastId();
    if (role !== 'leading' || !isOpen || id === null) return;
    const events = after === null ? [] : history.after(after);
    post({ kind: 'welcome', tab: whose, id, events: events ?? [], complete: events !== null });
  };
  const follow = ({ id, events, complete }: { id: string; events: Event[]; complete: boolean }) => {
    if (role !== 'waiting') return;
    role = 'following';
    clearTimeout(hello);
    if (!complete) deliver({ event: 'reset', id, data: {} });
    for (const event of events) deliver(event);
    if (history.lastId() !== id) history.add({ event: 'ping', id, data: {} });
    onState('live');
  };
  const onMessage = (message: Message) => {
    if (message.kind === 'hello') welcome(message);
    if (role === 'leading') return;
    if (message.kind === 'lead') sayHello();
    if (message.kind === 'welcome' && message.tab === tab) follow(message);
    if (message.kind === 'event' && role === 'following') deliver(message.event);
    if (message.kind === 'state' && role === 'following') onState(message.state);
  };

  return {
    join() {
      if (joined) return;
      const away = new AbortController();
      const channel = shared?.openChannel() ?? null;
      joined = { away, channel };
      role = 'waiting';
      onState('connecting');
      if (!shared || !channel) {
        void lead(away.signal);
        return;
      }
      channel.onmessage = ({ data }: { data: Message }) => {
        if (joined?.channel === channel) onMessage(data);
      };
      sayHello();
      shared.requestLock(() => lead(away.signal), away.signal).catch(() => undefined); // given up while it waited
    },
    leave() {
      if (!joined) return;
      clearTimeout(hello);
      joined.away.abort();
      joined.channel?.close();
      joined = null;
      role = 'waiting';
      onState('paused');
    },
    lastId: history.lastId,
  };
}
