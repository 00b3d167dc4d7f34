/** Does the store of a session read again what could not be read, when it has reason to? */
import { setImmediate } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Event } from '../../../../../../core/model/event.ts';
import { type Session, sessionExample } from '../../../../../../core/model/session.ts';
import { ProblemError } from '../../../../../../core/web/client/api/problem-error.ts';
import { type SessionReads, sessionStore } from '../../../../../../core/web/client/pages/session/session-store.ts';
import { eventually } from '../../../../../support/eventually.ts';
import { outlineAnswer, uuidOf } from '../../../../../support/outline-answer.ts';

const test = suite('sessionStore');
const session = sessionExample as Session;
const away = new ProblemError(0, 'unreached', 'The service cannot be reached', '');

/** A store whose reads fail as long as `failure` says so, and what it read. */
function opened(failure: Error | null, readSession?: () => Promise<Session>) {
  const state = { failure };
  const read: string[] = [];
  let emit: (event: Event) => void = () => {};
  const answer = async <T>(what: string, value: T): Promise<T> => {
    read.push(what);
    if (what !== 'outline' && state.failure) throw state.failure;
    return value;
  };
  const reads: SessionReads = {
    session: readSession ?? (() => answer('session', session)),
    outline: () => answer('outline', outlineAnswer({ traces: [{ id: 't' }], steps: [{ id: 's', trace: 't' }] })),
    window: () => answer('window', { items: [] }),
    whole: () => Promise.reject(new Error('no whole span was wanted')),
    find: async () => {},
    cache: () => Promise.reject(new Error('the cache was not wanted')),
    onEvent: (listener) => {
      emit = listener;
      return () => {};
    },
  };
  const store = sessionStore(session.id, reads, null);
  return { store, state, read, emit: (event: Event) => emit(event) };
}
const wanted = { trace_id: uuidOf('t'), span_id: uuidOf('s'), seq: 0, changed: 0 };

test('trying again reads the texts again too', async () => {
  const { store, state, read } = opened(away);
  store.texts.show([wanted]);
  await setImmediate();
  assert.is(store.texts.failure.value, away);
  state.failure = null;
  store.refresh();
  assert.is(store.texts.failure.value, null);
  assert.is(read.filter((what) => what === 'window').length, 2);
  store.close();
});

test('a session that comes with an event takes the failure of its read away', async () => {
  const { store, emit } = opened(away);
  await setImmediate();
  assert.is(store.failure.value, away);
  emit({ event: 'session', data: { session } } as Event);
  assert.is(store.failure.value, null);
  assert.is(store.session.value?.id, session.id);
  store.close();
});

/** A store whose reads of the session wait for `answers`, one after the other. */
function waiting() {
  const answers: ((title: string) => void)[] = [];
  const titled = (display_title: string): Session => ({ ...session, display_title });
  const { store, emit } = opened(null, () => new Promise((resolve) => answers.push((title) => resolve(titled(title)))));
  return {
    ...{ store, answers, titled },
    shown: async () => {
      await setImmediate();
      return store.session.value?.display_title;
    },
    emit: (title: string) => emit({ event: 'session', data: { session: titled(title) } } as Event),
  };
}

test('an answer that an event or an edit overtook is read once more, and never shown', async () => {
  for (const by of ['event', 'edit'] as const) {
    const { store, answers, shown, emit, titled } = waiting();
    const overtake = by === 'event' ? emit : (title: string) => store.put(titled(title));
    overtake('new');
    answers[0]?.('old');
    assert.is(await shown(), 'new');
    assert.is(answers.length, 2);
    answers[1]?.('newest');
    assert.is(await shown(), 'newest');
    store.close();
  }
});

test('a session that changes during each read is not read without end, and its last change is shown', async () => {
  const { store, answers, shown, emit } = waiting();
  for (const n of [0, 1, 2]) {
    emit(`change ${n}`);
    answers[n]?.('old');
    assert.is(await shown(), `change ${n}`);
  }
  assert.is(answers.length, 2);
  store.close();
});

test('a text of a trace that is not there any more has the outline read again', async () => {
  const { store, read } = opened(new ProblemError(404, 'trace-unknown', 'There is no such trace', ''));
  await eventually(async () => store.outline.complete.value);
  const before = read.filter((what) => what === 'outline').length;
  store.texts.show([wanted]);
  await eventually(async () => read.filter((what) => what === 'outline').length > before);
  store.close();
});

test.run();
