/** Do tabs that share a stream each get every event once, whoever leads, hides, comes late or comes back? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Event } from '../../../../core/model/event.ts';
import type { StreamReader } from '../../../../core/web/client/store/live-stream.ts';
import { type LiveTab, liveTab } from '../../../../core/web/client/store/live-tab.ts';

const test = suite('liveTab');
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const SETTLED_MS = 120;

/** A service whose events have numbers, and whose streams go on after any of them. */
function service() {
  let last = 0;
  const readers = new Set<StreamReader>();
  return {
    streams: () => readers.size,
    happen() {
      last += 1;
      for (const reader of readers) reader.onEvent(deleted(last));
    },
    async readStream(reader: StreamReader, signal: AbortSignal) {
      const after = reader.lastId();
      readers.add(reader);
      reader.onOpen();
      reader.onEvent({ event: 'ping', id: after ?? String(last), data: {} });
      for (let id = Number(after ?? last) + 1; id <= last; id += 1) reader.onEvent(deleted(id));
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      readers.delete(reader);
    },
  };
}

const deleted = (id: number): Event => ({ event: 'session_deleted', id: String(id), data: { session_id: String(id) } });

/** The locks and channels of Node are those of browsers in what counts here; only the lock has to be written. */
function browser({ readStream }: Pick<ReturnType<typeof service>, 'readStream'>, isShared = true) {
  const name = `live-tab ${Math.random()}`;
  let held: Promise<unknown> = Promise.resolve();
  const requestLock = (run: () => Promise<void>, signal: AbortSignal) => {
    const before = held;
    const own = before.then(() => (signal.aborted ? undefined : run()));
    held = own.catch(() => undefined);
    return own;
  };
  let tabs = 0;
  return (): { tab: LiveTab; events: string[]; states: string[] } => {
    tabs += 1;
    const [events, states]: [string[], string[]] = [[], []];
    const tab = liveTab({
      shared: isShared ? { requestLock, openChannel: () => new BroadcastChannel(name) as never } : null,
      readStream,
      tab: `tab ${tabs}`,
      onState: (state) => states.push(state),
      onEvent: ({ event, id }) => events.push(event === 'reset' ? 'reset' : id),
    });
    tab.join();
    return { tab, events, states };
  };
}

test('one stream, and each event once in each tab', async () => {
  const from = service();
  const open = browser(from);
  const tabs = [open(), open(), open()];
  await pause(SETTLED_MS);
  assert.is(from.streams(), 1);
  from.happen();
  from.happen();
  await pause(SETTLED_MS);
  for (const { tab, events, states } of tabs) {
    assert.equal(events, ['1', '2']);
    assert.is(states.at(-1), 'live');
    tab.leave();
  }
  await pause(SETTLED_MS);
  assert.is(from.streams(), 0);
});

test('the leader goes: the next reads on where it was, and nothing is lost or comes twice', async () => {
  const from = service();
  const open = browser(from);
  const [first, second, third] = [open(), open(), open()];
  await pause(SETTLED_MS);
  from.happen();
  first.tab.leave();
  from.happen(); // while nobody reads
  await pause(SETTLED_MS);
  assert.is(from.streams(), 1);
  from.happen();
  await pause(SETTLED_MS);
  assert.equal(second.events, ['1', '2', '3']);
  assert.equal(third.events, ['1', '2', '3']);
  first.tab.join();
  await pause(SETTLED_MS);
  assert.equal(first.events, ['1', '2', '3'], 'who comes back gets what came meanwhile');
  for (const { tab } of [first, second, third]) tab.leave();
});

test('all are hidden, then shown in any order', async () => {
  const from = service();
  const open = browser(from);
  const [first, second] = [open(), open()];
  await pause(SETTLED_MS);
  from.happen();
  await pause(SETTLED_MS);
  second.tab.leave();
  from.happen();
  await pause(SETTLED_MS);
  first.tab.leave();
  await pause(SETTLED_MS);
  assert.is(from.streams(), 0);
  from.happen();
  second.tab.join();
  await pause(SETTLED_MS);
  first.tab.join();
  await pause(SETTLED_MS);
  assert.equal(first.events, ['1', '2', '3']);
  assert.equal(second.events, ['1', '2', '3']);
  for (const { tab } of [first, second]) tab.leave();
});

test('who was away for longer than the leader remembers is to read everything again', async () => {
  const from = service();
  const open = browser(from);
  const [first, second] = [open(), open()];
  await pause(SETTLED_MS);
  from.happen();
  await pause(SETTLED_MS);
  second.tab.leave();
  for (let i = 0; i < 600; i += 1) from.happen();
  second.tab.join();
  await pause(SETTLED_MS);
  assert.equal(second.events, ['1', 'reset']);
  from.happen();
  await pause(SETTLED_MS);
  assert.equal(second.events, ['1', 'reset', '602']);
  for (const { tab } of [first, second]) tab.leave();
});

test('a service that lost its place says so to all', async () => {
  const from = service();
  const open = browser(from);
  const [first, second] = [open(), open()];
  await pause(SETTLED_MS);
  const readers: StreamReader[] = [];
  const other = browser({
    readStream: async (reader, signal) => {
      readers.push(reader);
      reader.onOpen();
      reader.onEvent({ event: 'ping', id: '1', data: {} });
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  });
  const [leader, follower] = [other(), other()];
  await pause(SETTLED_MS);
  readers[0]?.onInterrupted();
  await pause(SETTLED_MS);
  assert.is(follower.states.at(-1), 'connecting');
  readers[0]?.onLost();
  readers[0]?.onOpen();
  readers[0]?.onEvent({ event: 'ping', id: '9', data: {} });
  await pause(SETTLED_MS);
  assert.equal([leader.events, follower.events], [['reset'], ['reset']]);
  assert.equal([leader.states.at(-1), follower.states.at(-1)], ['live', 'live']);
  for (const { tab } of [first, second, leader, follower]) tab.leave();
});

test('where nothing can be shared each tab reads for itself', async () => {
  const from = service();
  const open = browser(from, false);
  const tabs = [open(), open()];
  await pause(SETTLED_MS);
  assert.is(from.streams(), 2);
  from.happen();
  for (const { tab, events } of tabs) {
    assert.equal(events, ['1']);
    tab.leave();
  }
});

test.run();
