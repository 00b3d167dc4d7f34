import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { NO_PROGRESS } from '../../../../core/cassette/isolation/child/progress.mjs';
import { startInline } from '../../../../core/cassette/isolation/inline.ts';
import { type Bindings, CassetteDown, Rejection } from '../../../../core/cassette/running.ts';
import { cassettes, recordedLog } from '../../../support/started-cassette.ts';

const test = suite('inline');

const inline = async (file: string, handed: Partial<Bindings> = {}) => {
  const { log, lines } = recordedLog();
  const running = await startInline({
    name: 'tried',
    folder: cassettes,
    entry: join(cassettes, file),
    network: false,
    log,
    bindingsFor: () => ({ DB: null, CORE: null, CONFIG: {}, LOG: log, ...handed }),
  });
  return {
    running,
    lines,
    ask: (path: string, init?: RequestInit) => running.fetch(new Request(`http://localhost${path}`, init)),
  };
};

const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test('it is asked in this process, with what it is handed, and nothing is claimed to be stopped', async () => {
  const { running, ask } = await inline('friendly.mjs', { CONFIG: { a: 1 } });
  assert.equal(await (await ask('/env')).json(), { has: ['CONFIG', 'LOG'], config: { a: 1 } });
  assert.is(running.confinement.level, 'none');
  assert.equal(running.confinement.stops, []);
  assert.is(running.loaded?.scheduled, true);
});

test('what it throws, and what is no Response, broke over this request only', async () => {
  const { ask, lines } = await inline('hostile.mjs');
  for (const path of ['/throw', '/garbage', '/nothing']) {
    const error = await thrown(ask(path));
    assert.instance(error, CassetteDown, path);
    assert.is((error as CassetteDown).kind, 'broken');
  }
  assert.ok(lines.some(({ level }) => level === 'error'));
  assert.is(await (await ask('/ping')).text(), 'pong');
});

test('an inline cassette that answers what no Response can have broke over this request', async () => {
  const { ask } = await inline('hostile.mjs');
  for (const path of ['/no-status', '/status-999', '/odd-length']) {
    const error = await thrown(ask(path));
    assert.instance(error, CassetteDown, path);
    assert.match((error as Error).message, /^Cannot ask "tried": its answer has/);
  }
});

test('a module that throws or has no fetch is refused at the step start', async () => {
  for (const [file, message] of [
    ['throws-at-import.mjs', 'Cannot start "tried": it throws when it is loaded: Error: no luck today'],
    ['without-fetch.mjs', 'Cannot start "tried": its default export has no function fetch'],
  ] as const) {
    const error = await thrown(inline(file));
    assert.instance(error, Rejection);
    assert.is((error as Rejection).step, 'start');
    assert.is((error as Rejection).message, message);
  }
});

test('closing waits for what is under way, and then it is unavailable', async () => {
  const { running, ask, lines } = await inline('friendly.mjs');
  await ask('/later');
  await running.close(5_000);
  assert.ok(lines.some(({ message }) => message === 'it was waited for'));
  const error = await thrown(ask('/ping'));
  assert.is((error as CassetteDown).kind, 'unavailable');
  assert.is(running.liveness().state, 'closed');
});

test('closing waits no longer than it may', async () => {
  const { running, ask } = await inline('hostile.mjs');
  void ask('/hold');
  await running.close(50);
  assert.is(running.liveness().state, 'closed');
});

test('background work runs one after the other, and fails by its own words', async () => {
  const { running, lines } = await inline('friendly.mjs');
  const stop = new AbortController();
  const long = running.scheduled({ scheduled_at: 1, signal: stop.signal });
  const next = running.scheduled({ scheduled_at: 42, signal: stop.signal });
  setTimeout(() => stop.abort(), 50);
  await Promise.all([long, next]);
  assert.equal(
    lines.map(({ message }) => message),
    ['it stopped', 'it ran'],
  );
  const error = await thrown(running.scheduled({ scheduled_at: 0, signal: stop.signal }));
  assert.is((error as Error).message, 'nothing was due');
});

test('its last word on its progress is kept, and what is none fails where it is said', async () => {
  const { running } = await inline('friendly.mjs');
  const { signal } = new AbortController();
  assert.is(running.progress(), null);
  await running.scheduled({ scheduled_at: 3, signal });
  assert.equal(running.progress(), { done: 500, pending: 0, failed: 2 });
  const error = await thrown(running.scheduled({ scheduled_at: 2, signal }));
  assert.is((error as Error).message, NO_PROGRESS);
  assert.equal(running.progress(), { done: 500, pending: 0, failed: 2 });
});

test.run();
