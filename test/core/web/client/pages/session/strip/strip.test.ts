import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CacheBreak } from '../../../../../../../core/model/cache-break.ts';
import { mayHaveBroken } from '../../../../../../../core/web/client/pages/session/cache/may-have-broken.ts';
import { followed, spanLinks } from '../../../../../../../core/web/client/pages/session/span-panel/span-links.ts';
import { callAt, middleOf, stripBins } from '../../../../../../../core/web/client/pages/session/strip/strip-bins.ts';
import { stripMarks } from '../../../../../../../core/web/client/pages/session/strip/strip-marks.ts';
import { mergeOutline, spanIndex } from '../../../../../../../core/web/client/store/outline-columns.ts';
import { outlineIndex } from '../../../../../../../core/web/client/store/outline-index.ts';
import { outlineAnswer, type Relation, type Step, uuidOf } from '../../../../../../support/outline-answer.ts';

const test = suite('the strip');

const call = (id: string, started_us: number, more: Partial<Step> = {}): Step => ({
  id,
  trace: 't1',
  started_us,
  ...more,
});
const columnsOf = (steps: Step[], links: Relation[] = []) =>
  mergeOutline(null, outlineAnswer({ traces: [{ id: 't1' }, { id: 't2', started_us: 9 }], steps, links }));
const binsOf = (steps: Step[], width: number) => {
  const columns = columnsOf(steps);
  return stripBins(columns, outlineIndex(columns), width);
};

test('few calls: a cell each, its height split by how the input was billed', () => {
  const { cells, tallest, prompts } = binsOf(
    [
      call('a', 1, { input_tokens: 100, cache_read_tokens: 70, cache_write_tokens: 20 }),
      call('b', 2, { input_tokens: 50 }),
      call('c', 10, { trace: 't2', input_tokens: 200, cache_read_tokens: 200 }),
      call('tool', 3, { kind: 'tool' }),
    ],
    300,
  );
  assert.is(tallest, 200);
  assert.equal(cells, [
    { x: 0, width: 99, read: 70, written: 20, fresh: 10 },
    { x: 100, width: 99, read: 0, written: 0, fresh: 50 },
    { x: 200, width: 99, read: 200, written: 0, fresh: 0 },
  ]);
  assert.equal(prompts, [200]);
});

test('more calls than pixels: a pixel shows the tallest of its calls, so that no tooth is lost', () => {
  const steps = Array.from({ length: 10_000 }, (_, i) =>
    call(`c${i}`, i, { input_tokens: i === 7_777 ? 900 : 10, cache_read_tokens: i === 7_777 ? 0 : 10 }),
  );
  const { cells, tallest } = binsOf(steps, 500);
  assert.is(cells.length, 500);
  assert.is(tallest, 900);
  assert.equal(
    cells.filter(({ fresh }) => fresh > 0).map(({ x }) => x),
    [388],
  );
});

test('no calls: no cells', () => {
  assert.equal(binsOf([], 300), { cells: [], tallest: 1, prompts: [] });
});

test('a place is a call, and a call has a place within its cell', () => {
  for (const n of [0, 1, 59, 119]) assert.is(callAt(middleOf(n, 1000, 120), 1000, 120), n);
  assert.is(callAt(-5, 1000, 120), 0);
  assert.is(callAt(5000, 1000, 120), 119);
});

test('marks: errors, cut answers, compactions and blocked tools, each in words at its call', () => {
  const columns = columnsOf([
    call('a', 1, { status: 'error', error_type: 'overloaded_error' }),
    call('b', 2, { status: 'partial' }),
    call('c', 3, { stop_reason: 'max_tokens' }),
    call('d', 4, { kind: 'tool', name: 'Bash', verdict: 'BLOCK', status: 'error' }),
    call('e', 5, { kind: 'tool', name: 'Read', status: 'error' }),
    call('f', 6, { call_kind: 'offshoot:compaction' }),
    call('g', 7),
  ]);
  assert.equal(
    stripMarks(columns, outlineIndex(columns), []).map(({ kind, words }) => [kind, words]),
    [
      ['error', 'call 1: call failed: overloaded_error'],
      ['cut', 'call 2: answer cut off'],
      ['cut', 'call 3: answer cut off'],
      ['blocked', 'call 3: Bash was blocked'],
      ['error', 'call 3: Read failed'],
      ['compaction', 'call 4: compaction'],
    ],
  );
});

test('breaks of the cache: a mark at the call that broke, with its cause and what it cost; planned ones have none', () => {
  const columns = columnsOf([call('a', 1), call('b', 2), call('c', 3)]);
  const broken = (id: string, more: Partial<CacheBreak>): CacheBreak =>
    ({ trace_id: uuidOf('t1'), span_id: uuidOf(id), planned: false, lost_usd: 0.44, ...more }) as CacheBreak;
  const breaks = [
    broken('a', { planned: true, cause: 'first' }),
    broken('b', { cause: 'tools' }),
    broken('c', { cause: 'expired', lost_usd: null }),
    broken('gone', { cause: 'expired' }),
  ];
  assert.equal(
    stripMarks(columns, outlineIndex(columns), breaks).map(({ kind, words }) => [kind, words]),
    [
      ['break', 'call 2: cache break, tools changed, $0.44 lost'],
      ['break', 'call 3: cache break, expired'],
    ],
  );
});

test('the cache may have broken only where a call read less than an earlier one of its model held', () => {
  const may = (steps: Step[]) => {
    const columns = columnsOf(steps);
    return mayHaveBroken(columns, outlineIndex(columns));
  };
  const grown = [
    call('a', 1, { input_tokens: 9_000, cache_write_tokens: 9_000 }),
    call('b', 2, { input_tokens: 20_000, cache_read_tokens: 9_000 }),
    call('c', 3, { input_tokens: 21_000, cache_read_tokens: 19_500 }),
  ];
  assert.is(may([]), false);
  assert.is(may(grown), false);
  assert.is(may([...grown, call('small', 4, { input_tokens: 900 })]), false);
  assert.is(may([...grown, call('other', 4, { input_tokens: 9_000, model: 'claude-haiku-4-5' })]), false);
  assert.is(may([...grown, call('d', 4, { input_tokens: 22_000, cache_read_tokens: 9_000 })]), true);
});

test('links in words from both ends; one key follows and comes back', () => {
  const columns = columnsOf(
    [call('ask', 1), call('bash', 2, { kind: 'tool' }), call('judge', 3), call('next', 4)],
    [
      { kind: 'emits', from: 'ask', to: 'bash' },
      { kind: 'verdict', from: 'judge', to: 'bash' },
      { kind: 'feeds', from: 'bash', to: 'next' },
      { kind: 'fork-of', from: 'next', to: 'elsewhere' },
    ],
  );
  const index = outlineIndex(columns);
  const at = (id: string) => spanIndex(columns, '', uuidOf(id));
  const words = (id: string) => spanLinks(columns, index, at(id)).map((link) => [link.words, link.span]);
  assert.equal(words('bash'), [
    ['asked by', at('ask')],
    ['judged by', at('judge')],
    ['fed', at('next')],
  ]);
  assert.equal(words('ask'), [['asked for', at('bash')]]);
  const links = spanLinks(columns, index, at('next'));
  assert.equal(
    links.map(({ words, other }) => [words, other?.span_id]),
    [
      ['fed by', undefined],
      ['goes on from', uuidOf('elsewhere')],
    ],
  );
  assert.is(followed(spanLinks(columns, index, at('bash')), -1)?.span, at('next'));
  assert.is(followed(links, at('bash'))?.span, at('bash'), 'and back');
});

test.run();
