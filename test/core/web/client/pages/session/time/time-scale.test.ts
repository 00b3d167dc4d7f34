import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { activityPath } from '../../../../../../../core/web/client/pages/session/time/activity-path.ts';
import {
  merged,
  ticks,
  timeScale,
  totalOf,
} from '../../../../../../../core/web/client/pages/session/time/time-scale.ts';
import { activityOf, sharesOf } from '../../../../../../../core/web/client/pages/session/time/time-shares.ts';
import { moved, parseRange, rangeText, zoomed } from '../../../../../../../core/web/client/pages/session/time/zoom.ts';
import { mergeOutline } from '../../../../../../../core/web/client/store/outline-columns.ts';
import { outlineAnswer } from '../../../../../../support/outline-answer.ts';

const S = 1_000_000;
const test = suite('timeScale');
const rounded = (value: number) => Math.round(value * 1000) / 1000;

test('without gaps it is linear', () => {
  const scale = timeScale(merged([[0, 40 * S]]), 0, 40 * S, 800);
  assert.is(scale.x(0), 0);
  assert.is(rounded(scale.x(10 * S)), 200);
  assert.is(scale.x(40 * S), 800);
  assert.is(rounded(scale.moment(200)), 10 * S);
});

test('a gap of more than a minute takes 26 px, one of a minute its own length', () => {
  const busy = merged([
    [0, 10 * S],
    [70 * S, 80 * S],
    [680 * S, 690 * S],
  ]);
  const scale = timeScale(busy, 0, 690 * S, 926);
  assert.equal(
    scale.gaps.map(({ from, to, width }) => [from / S, to / S, width]),
    [[80, 680, 26]],
  );
  assert.is(rounded(scale.x(80 * S)), 800);
  assert.is(rounded(scale.x(680 * S)), 826);
  assert.is(rounded(scale.x(380 * S)), 813, 'its middle');
  assert.is(rounded(scale.x(690 * S)), 926);
});

test('many gaps never take more than a third of the width', () => {
  const busy = merged(Array.from({ length: 400 }, (_, i) => [i * 100 * S, i * 100 * S + S] as const));
  const scale = timeScale(busy, 0, 39_901 * S, 600);
  const widths = scale.gaps.reduce((sum, { width }) => sum + width, 0);
  assert.is(scale.gaps.length, 399);
  assert.ok(widths <= 200);
  assert.ok(Math.abs(scale.x(39_901 * S) - 600) < 1e-6);
});

test('order is preserved, and a place leads back to its moment', () => {
  const stretch = fc.tuple(fc.nat(900 * S), fc.nat(20 * S)).map(([from, length]) => [from, from + length] as const);
  fc.assert(
    fc.property(fc.array(stretch, { maxLength: 30 }), fc.array(fc.nat(900 * S), { minLength: 2 }), (some, moments) => {
      const scale = timeScale(merged(some), 0, 920 * S, 1000);
      const places = [...moments].sort((a, b) => a - b).map((moment) => scale.x(moment));
      assert.equal(
        places,
        [...places].sort((a, b) => a - b),
      );
      for (const moment of moments) assert.ok(Math.abs(scale.moment(scale.x(moment)) - moment) < 10);
    }),
  );
});

test('overlapping stretches count once', () => {
  const stretches = merged([
    [50, 60],
    [0, 20],
    [10, 30],
    [30, 35],
  ]);
  assert.equal([...stretches], [0, 35, 50, 60]);
  assert.is(totalOf(stretches), 45);
});

test('ticks are round, apart from each other, and in no gap', () => {
  const scale = timeScale(
    merged([
      [0, 30 * S],
      [900 * S, 930 * S],
    ]),
    0,
    930 * S,
    700,
  );
  const shown = ticks(scale);
  assert.ok(shown.length >= 4);
  for (const [n, { x, us }] of shown.entries()) {
    assert.is(us % (5 * S), 0);
    assert.ok(us <= 30 * S || us >= 900 * S);
    if (n > 0) assert.ok(x - (shown[n - 1]?.x ?? 0) >= 60);
  }
});

test('a range of the address: milliseconds from the first prompt; anything else is the whole', () => {
  assert.equal(parseRange('1200-93000', 7), { from: 7 + 1_200_000, to: 7 + 93_000_000 });
  assert.is(rangeText({ from: 7 + 1_200_000, to: 7 + 93_000_000 }, 7), '1200-93000');
  for (const text of [null, '', '5', '9-1', '-1-5', '1-99999999999999999', '<b>'])
    assert.is(parseRange(text, 0), null, String(text));
});

test('zooming holds the moment in its place, and the whole is where it ends', () => {
  const whole = { from: 0, to: 1000 * S };
  const near = zoomed(whole, whole, 250 * S, 0.5);
  assert.equal(near, { from: 125 * S, to: 625 * S });
  assert.is(zoomed(near ?? whole, whole, 0, 4), null);
  assert.equal(moved({ from: 125 * S, to: 625 * S }, whole, 0.5), { from: 375 * S, to: 875 * S });
  assert.equal(moved({ from: 375 * S, to: 875 * S }, whole, 0.5), { from: 500 * S, to: 1000 * S });
});

test('shares add up to one: a tool that waits for a model is the model, and what nothing fills is waiting', () => {
  const steps = [
    { id: 'a', trace: 't', started_us: 0, duration_us: 40 * S },
    { id: 'b', trace: 't', kind: 'tool' as const, started_us: 40 * S, duration_us: 30 * S },
    { id: 'c', trace: 't', started_us: 50 * S, duration_us: 10 * S },
    { id: 'd', trace: 't', started_us: 90 * S, duration_us: 10 * S },
  ];
  const answer = outlineAnswer({ traces: [{ id: 't' }], steps });
  answer.traces.duration_us = [100 * S];
  const activity = activityOf(mergeOutline(null, answer), -1);
  assert.equal(sharesOf(activity, 0, 100 * S), { model: 0.6, tools: 0.2, waiting: 0.2 });
  assert.equal(sharesOf(activity, 0, 40 * S), { model: 1, tools: 0, waiting: 0 });
  assert.is(sharesOf(activity, 200 * S, 300 * S), null);
});

test('the outline of many steps: a box for each stretch of pixels', () => {
  const scale = timeScale(merged([[0, 100]]), 0, 100, 100);
  const times = { started_us: [0, 5, 50], duration_us: [10, 10, Number.NaN] };
  assert.is(activityPath([0, 1, 2], times, scale, { top: 4, height: 8 }), 'M0 4h15v8h-15zM50 4h1v8h-1z');
});

test.run();
