import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Trouble } from '../../../core/cassette/installed.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import type { CassetteDocument } from '../../../core/cassette/openapi/document.ts';
import type { Liveness } from '../../../core/cassette/running.ts';
import {
  type InForce,
  installedOf,
  isSameNews,
  nextState,
  PENDING,
  type SlotEvent,
  type SlotState,
} from '../../../core/cassette/slot-state.ts';

const test = suite('states of a slot');

const troubleAt = (step: Trouble['step'], observed_at = '2026-01-01T00:00:00Z'): Trouble => ({
  ...{ step, reason: `it failed at ${step}`, problems: [], observed_at },
});
const documentOf = (openapi_digest: string) => ({ openapi_digest }) as CassetteDocument;
const inForce = (liveness: Liveness = { state: 'up', reason: null, restarts: 0 }) =>
  ({
    ...{ source_digest: 'sha256:0', document: documentOf('first'), at: '2026-01-02T00:00:00Z' },
    running: { liveness: () => liveness, progress: () => null, confinement: null },
  }) as unknown as InForce;

const after = (...events: SlotEvent[]): SlotState => events.reduce(nextState, PENDING);
const admitted = (): SlotEvent => ({ kind: 'admitted', admitted: inForce() });
const refused = (step: Trouble['step']): SlotEvent => ({ kind: 'refused', trouble: troubleAt(step) });
const failed: SlotEvent = { kind: 'refresh-failed', trouble: troubleAt('resolve') };
const outdated: SlotEvent = { kind: 'outdated', trouble: troubleAt('digest') };
const same: SlotEvent = { kind: 'refreshed', document: null };

test('each event leads where the table says', () => {
  const cases: [SlotEvent[], SlotState['name']][] = [
    [[], 'pending'],
    [[refused('resolve')], 'unresolved'],
    [[refused('health')], 'rejected'],
    [[refused('resolve'), refused('start')], 'rejected'],
    [[refused('start'), admitted()], 'admitted'],
    [[admitted(), same], 'admitted'],
    [[admitted(), failed], 'stale'],
    [[admitted(), failed, failed], 'stale'],
    [[admitted(), failed, same], 'admitted'],
    [[admitted(), outdated], 'pending'],
    [[admitted(), failed, outdated], 'pending'],
    [[admitted(), outdated, refused('digest')], 'rejected'],
  ];
  for (const [events, name] of cases) {
    const state = after(...events);
    const kinds = events.map(({ kind }) => kind).join(', ');
    assert.is(state.name, name, kinds);
    assert.is(state.admitted !== null, name === 'admitted' || name === 'stale', kinds);
    assert.is(state.trouble === null, name === 'admitted' || events.length === 0, kinds);
  }
});

test('an event that cannot occur in a state is an error', () => {
  for (const event of [same, failed, outdated]) assert.throws(() => after(event), /in the state 'pending'/);
  for (const event of [admitted(), refused('start')])
    assert.throws(() => after(admitted(), event), /in the state 'admitted'/);
});

test('a refresh replaces the document, and one without news keeps it', () => {
  const digestIn = (...events: SlotEvent[]) => after(...events).admitted?.document.openapi_digest;
  assert.is(digestIn(admitted(), same), 'first');
  assert.is(digestIn(admitted(), { kind: 'refreshed', document: documentOf('second') }, failed), 'second');
});

test('the same trouble at another time is no news', () => {
  const rejected = (step: Trouble['step'], at: string) => after({ kind: 'refused', trouble: troubleAt(step, at) });
  assert.ok(isSameNews(rejected('start', '2026-01-01T00:00:00Z'), rejected('start', '2026-02-01T00:00:00Z')));
  assert.not(isSameNews(rejected('start', '2026-01-01T00:00:00Z'), rejected('health', '2026-01-01T00:00:00Z')));
  assert.not(isSameNews(PENDING, rejected('start', '2026-01-01T00:00:00Z')));
});

test('an admitted cassette whose process is not up is shown as stale, since that began', () => {
  const entry = ListEntry.parse({ name: 'notes', source: './notes' });
  const shown = (state: SlotState) =>
    installedOf({ entry, state, since: '2026-01-02T00:00:00Z', lastRun: null, now: '2026-01-09T00:00:00Z' });
  const up = shown(after(admitted()));
  assert.equal(
    [up.state, up.since, up.admitted_at, up.trouble],
    ['admitted', '2026-01-02T00:00:00Z', '2026-01-02T00:00:00Z', null],
  );
  const liveness: Liveness = { state: 'restarting', reason: 'it died', restarts: 1, since: '2026-01-05T00:00:00Z' };
  const down = shown(after({ kind: 'admitted', admitted: inForce(liveness) }));
  assert.equal([down.state, down.since, down.admitted_at], ['stale', '2026-01-05T00:00:00Z', '2026-01-02T00:00:00Z']);
  assert.equal(down.trouble, {
    ...{ step: 'start', reason: 'it died', problems: [], observed_at: '2026-01-05T00:00:00Z' },
  });
});

test.run();
