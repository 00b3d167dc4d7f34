import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { evidenceOf } from '../../../core/cassette/evidence.ts';
import type { AdmissionState, Installed } from '../../../core/cassette/installed.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';

const test = suite('evidence');

const installed = (
  name: string,
  state: AdmissionState,
  more: Partial<Installed> = {},
  entry: object = {},
): Installed => ({
  entry: ListEntry.parse({ name, source: `./${name}`, ...entry }),
  isolation: 'process',
  state,
  since: '2026-11-21T09:00:00Z',
  admitted_at: state === 'admitted' || state === 'stale' ? '2026-11-21T09:00:00Z' : null,
  trouble: null,
  confinement: { level: 'partial', stops: ['files'], does_not_stop: ['network'] },
  liveness: { state: 'up', reason: null, restarts: 0 },
  source_digest: `sha256:${'a'.repeat(64)}`,
  document: null,
  last_run: null,
  progress: null,
  ...more,
});
const trouble = {
  step: 'digest' as const,
  reason: 'Cannot take it: it changed',
  problems: [],
  observed_at: '2026-11-21T09:01:00Z',
};
const list = { digest: `sha256:${'b'.repeat(64)}`, count: 5, loaded_at: '2026-11-21T08:59:59.123Z', problem: null };
const instance = {
  instance_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  started_at: '2026-11-21T08:59:00Z',
  pod_name: 'svc-0',
};
const evidence = (...all: Installed[]) =>
  evidenceOf({
    instance,
    processes: [],
    list: { ...list, count: all.length },
    installed: all,
    now: Date.UTC(2026, 10, 21, 9, 2, 3, 456),
  });

test('background work tells how far it is, where it told that', () => {
  const progress = { done: 1204, pending: 35, failed: 2 };
  const { cassettes } = evidence(installed('search', 'admitted', { progress }), installed('skills', 'admitted'));
  assert.equal(
    cassettes.map(({ background }) => background),
    [progress, undefined],
  );
});

test('every source stands in one of the two lists, and together they are as many as are on the list', () => {
  const { cassettes, unresolved_sources, configuration } = evidence(
    installed('admitted', 'admitted'),
    installed('pending', 'pending'),
    installed('rejected', 'rejected', { trouble }),
    installed('stale', 'stale', { trouble }),
    installed('unresolved', 'unresolved', { trouble }),
  );
  assert.equal(
    cassettes.map(({ name, admission }) => [name, admission]),
    [
      ['admitted', 'admitted'],
      ['rejected', 'rejected'],
      ['stale', 'stale'],
    ],
  );
  assert.equal(
    unresolved_sources.map(({ subject, admission }) => [subject, admission]),
    [
      ['pending', 'pending'],
      ['unresolved', 'unresolved'],
    ],
  );
  assert.is(cassettes.length + unresolved_sources.length, configuration.source_count);
});

test('a source that is out says at which step and why; one that is in says since when, and how it is kept apart', () => {
  const [inside, outside] = evidence(
    installed('a-in', 'admitted'),
    installed('b-out', 'rejected', { trouble: { ...trouble, problems: ['one', 'two'] }, admitted_at: null }),
  ).cassettes;
  assert.is(inside?.admitted_at, '2026-11-21T09:00:00Z');
  assert.is(inside?.rejection, undefined);
  assert.is(inside?.confinement, 'partial');
  assert.is(outside?.admitted_at, undefined);
  assert.equal(outside?.rejection, {
    subject: 'b-out',
    step: 'digest',
    reason: 'Cannot take it: it changed',
    problems: ['one', 'two'],
    observed_at: '2026-11-21T09:01:00Z',
  });
});

test('ready is: every required one is in, freshly', () => {
  const required = { required: true };
  assert.ok(evidence().ready);
  assert.ok(evidence(installed('a1', 'rejected', { trouble })).ready);
  assert.ok(evidence(installed('a1', 'admitted', {}, required), installed('b1', 'rejected', { trouble })).ready);
  for (const state of ['pending', 'rejected', 'unresolved', 'stale'] as const)
    assert.not(evidence(installed('a1', state, { trouble }, required)).ready, state);
});

test('times are in seconds, who asks learns who answered, and no address shows a credential', () => {
  const report = evidence(
    installed('far', 'admitted', {}, { source: 'https://example.org/openapi?key=s3cret', isolation: 'remote' }),
  );
  assert.is(report.checked_at, '2026-11-21T09:02:03Z');
  assert.is(report.configuration.loaded_at, '2026-11-21T08:59:59Z');
  assert.is(report.instance.pod_name, 'svc-0');
  assert.is(report.cassettes[0]?.source, 'https://example.org/openapi?[redacted]');
  assert.not.match(JSON.stringify(report), 's3cret');
});

test.run();
