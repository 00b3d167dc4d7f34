/** The sums, shares and sentences of the pages of spend, health and find. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Outcome } from '../../../../../core/model/coverage.ts';
import { mayBeId, placePath, wordsIn } from '../../../../../core/web/client/pages/find/place-path.ts';
import {
  OUTCOME_ORDER,
  OUTCOME_SENTENCES,
  recordedShare,
} from '../../../../../core/web/client/pages/health/outcome-sentences.ts';
import { sparkPath } from '../../../../../core/web/client/pages/sessions/sparkline.tsx';
import { chartOf } from '../../../../../core/web/client/pages/spend/chart-scale.ts';
import { filtersOfKey, keyLabel } from '../../../../../core/web/client/pages/spend/series-keys.ts';
import {
  changeOf,
  changeText,
  csvOf,
  daysOf,
  fieldIn,
  filtersIn,
  isUnpriced,
  lastDays,
  shareText,
  windowBefore,
  windowIn,
} from '../../../../../core/web/client/pages/spend/spend-days.ts';

const test = suite('figures of the pages');

const NOON = Date.parse('2026-11-23T12:00:00Z');
const NONE = Object.fromEntries(Outcome.options.map((name) => [name, 0])) as Record<Outcome, number>;

test('every outcome has its sentence, and one that loses turns says what to do', () => {
  assert.equal([...OUTCOME_ORDER].sort(), [...Outcome.options].sort());
  for (const name of Outcome.options) {
    const { category, meaning, advice } = OUTCOME_SENTENCES[name];
    assert.ok(meaning.endsWith('.'), name);
    if (category === 'lost') assert.ok(advice !== null && advice.length > 20, name);
  }
  assert.equal(recordedShare({ ...NONE, captured: 1_200, partial: 4, over_limit: 2, poison: 4, not_a_turn: 311 }), {
    recorded: 1_204,
    turns: 1_210,
  });
});

test('windows are whole UTC days; an address that names none is the last thirty', () => {
  assert.equal(lastDays(7, NOON), { since: '2026-11-17', until: '2026-11-24' });
  assert.is(daysOf(lastDays(7, NOON)).length, 7);
  assert.equal(daysOf({ since: '2026-02-27', until: '2026-03-02' }), ['2026-02-27', '2026-02-28', '2026-03-01']);
  assert.equal(windowBefore({ since: '2026-11-17', until: '2026-11-24' }), {
    since: '2026-11-10',
    until: '2026-11-17',
  });
  const windowOf = (query: string) => windowIn(new URLSearchParams(query), NOON);
  assert.equal(windowOf('since=2026-11-20&until=2026-11-22'), { since: '2026-11-20', until: '2026-11-22' });
  for (const query of ['', 'since=soon', 'since=2026-02-31', 'since=2026-11-20&until=2026-11-20'])
    assert.equal(windowOf(query), lastDays(30, NOON), query);
  assert.is(
    daysOf(windowOf('since=2001-01-01')).length,
    366,
    'a band of the chart for each day, and not for each of nine thousand',
  );
});

test('a change is a share of what was before', () => {
  assert.is(changeOf(118, 100), 0.18);
  assert.is(changeOf(5, 0), null);
  assert.is(changeText(0.18), '18 % more than');
  assert.is(changeText(-0.5), '50 % less than');
  assert.is(changeText(0.001), 'as much as');
});

test('the thirteenth key of a series is what the others come to, whatever it is named', () => {
  const series = {
    by: 'model' as const,
    keys: ['other', '', ...Array.from({ length: 10 }, (_, n) => `m-${n}`), 'other'],
  };
  assert.equal(
    [0, 1, 12].map((place) => keyLabel(series, place)),
    ['other', 'without one', 'all others'],
  );
  assert.equal(
    [0, 1, 2, 12].map((place) => filtersOfKey(series, place)),
    [{ model: 'other' }, {}, { model: 'm-0' }, {}],
  );
});

test('tokens without a price have no cost, and a share is never shown as none', () => {
  assert.ok(isUnpriced({ cost_usd: 0, unpriced_tokens: 9 }));
  assert.not.ok(isUnpriced({ cost_usd: 0, unpriced_tokens: 0 }));
  assert.equal([shareText(1, 3), shareText(0.001, 3), shareText(0, 3), shareText(1, 0)], ['33 %', '< 1 %', '0 %', '']);
});

test('filters of the address that /v1/stats does not have are not sent to it', () => {
  assert.equal(filtersIn(new URLSearchParams('project=a&status=failed&by=model&model=')), { project: 'a' });
  assert.is(fieldIn(new URLSearchParams('by=project')), 'project');
  assert.is(fieldIn(new URLSearchParams('by=constructor')), 'model');
});

test('a table as CSV: quotes doubled, and no cell that a spreadsheet runs', () => {
  assert.is(
    csvOf([
      ['a', 'b'],
      ['x,"y"', 1.5],
      ['=1+1', '-2'],
    ]),
    `a,b\r\n"x,""y""",1.5\r\n'=1+1,'-2`,
  );
});

test('the bars of a chart stack from its ground, and their heights are as their values', () => {
  const days = [
    { day: '2026-11-22', values: { input: 30, output: 10 } },
    { day: '2026-11-23', values: { input: 20, output: 0 } },
  ];
  const { bars, ticks, labels } = chartOf(days, ['input', 'output'], { left: 50, right: 250, top: 10, bottom: 210 });
  assert.equal(
    bars.map(({ series, day }) => `${series} ${day}`),
    ['input 2026-11-22', 'input 2026-11-23', 'output 2026-11-22'],
  );
  assert.equal(
    bars.map(({ height }) => Math.round(height)),
    [150, 100, 50],
  );
  assert.is((bars[0]?.y ?? 0) + (bars[0]?.height ?? 0), 210);
  assert.is((bars[2]?.y ?? 0) + (bars[2]?.height ?? 0), bars[0]?.y);
  assert.is(ticks[0]?.y, 210);
  assert.is(labels.length, 2);
  assert.equal(chartOf([], ['input'], { left: 0, right: 100, top: 0, bottom: 100 }).bars, []);
});

test('a line of context begins at the left and touches top and bottom', () => {
  assert.is(sparkPath([0, 5, 10], 22, 12), 'M1.0 11.0L11.0 6.0L21.0 1.0');
  assert.is(sparkPath([0, 0], 22, 12), 'M1.0 11.0L21.0 11.0');
});

test('an id leads to its place, and words are those that the API reads', () => {
  const session_id = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
  assert.is(placePath({ kind: 'session', session_id }), `/sessions/${session_id}`);
  assert.is(placePath({ kind: 'tool_call', session_id, trace_id: 't', span_id: 's', raw_turn_id: 3 }), '/spans/t/s');
  assert.is(
    placePath({ kind: 'raw_turn', session_id, trace_id: 't', span_id: 's', raw_turn_id: 3 }),
    `/sessions/${session_id}/calls/3/bytes`,
  );
  assert.is(placePath({ kind: 'request', session_id, raw_turn_id: 3 }), `/sessions/${session_id}/calls/3/bytes`);
  for (const id of ['12', 'msg_01XFDUDYJgAACzvnptvVoYEL', session_id]) assert.ok(mayBeId(id), id);
  for (const text of ['', 'midnight', 'test 12', 'x'.repeat(513)]) assert.not(mayBeId(text), text);
  assert.is(wordsIn('why does it fail? fail!'), 'why does it fail');
  assert.is(wordsIn('… !'), '');
  assert.is(wordsIn(Array.from({ length: 30 }, (_, i) => `w${i}`).join(' ')).split(' ').length, 16);
});

test.run();
