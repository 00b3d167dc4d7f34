import { setTimeout } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ReadOutline, sessionOutline } from '../../../../../core/web/client/store/outline.ts';
import { isPart } from '../../../../../core/web/client/store/outline-columns.ts';
import { eventually } from '../../../../support/eventually.ts';
import { outlineAnswer, type Step, uuidOf } from '../../../../support/outline-answer.ts';

const test = suite('sessionOutline');

const step = (id: string, trace = 't'): Step => ({ id, trace });
const answer = (rev: string, whole: boolean, steps: Step[], next_cursor?: string) => ({
  ...outlineAnswer({ traces: [...new Set(steps.map(({ trace }) => trace))].map((id) => ({ id })), steps, rev, whole }),
  ...(next_cursor === undefined ? {} : { next_cursor }),
});

/** A session whose answers are given one by one. */
function served(...answers: (ReturnType<typeof answer> | Error)[]) {
  return servedFrom(undefined, ...answers);
}

function servedFrom(start: Parameters<typeof sessionOutline>[1], ...answers: (ReturnType<typeof answer> | Error)[]) {
  const pages: Parameters<ReadOutline>[0][] = [];
  const read: ReadOutline = async (page) => {
    pages.push(page);
    const next = answers.shift();
    if (next === undefined || next instanceof Error) throw next ?? new Error('nothing more was expected');
    return next;
  };
  return { pages, outline: sessionOutline(read, start) };
}

test('the whole is read page by page, later only what changed', async () => {
  const { pages, outline } = served(
    answer('7', true, [step('b', 'later')], 'more'),
    answer('7', true, [step('a')]),
    answer('8', false, [step('c', 'later')]),
  );
  outline.refresh();
  await eventually(() => outline.complete.value);
  assert.is(outline.columns.value?.spans.count, 2);
  outline.refresh();
  await eventually(() => outline.columns.value?.spans.count === 3);
  assert.equal(pages, [
    { after: null, fromStart: false, cursor: null },
    { after: null, fromStart: false, cursor: 'more' },
    { after: '7', fromStart: false, cursor: null },
  ]);
  outline.close();
});

test('the beginning is shown before the rest is there, unless it is not what the reader looks at', async () => {
  for (const isShown of [true, false]) {
    const { pages, outline } = servedFrom(
      { around: null, isShown: async () => isShown, rest: async () => {} },
      answer('7', true, [step('a')], 'more'),
      answer('7', true, [step('b', 'later'), step('c', 'later')]),
      answer('8', false, [step('d', 'later')]),
    );
    const counts: (number | undefined)[] = [];
    outline.columns.subscribe((columns) => counts.push(columns?.spans.count));
    outline.refresh();
    await eventually(() => outline.complete.value);
    outline.refresh();
    await eventually(() => outline.columns.value?.spans.count === 4);
    assert.equal(counts, isShown ? [undefined, 1, 3, 4] : [undefined, 3, 4]);
    assert.equal(
      pages.map(({ after, fromStart, cursor }) => [after, fromStart, cursor]),
      [
        [null, true, null],
        [null, true, 'more'],
        ['7', false, null],
      ],
    );
    outline.close();
  }
});

test('what is around the span that the reader looks at is shown until the whole is there, which may come in pages', async () => {
  for (const isShown of [true, false]) {
    const read = async () => answer('0', false, [step('b', 'middle')]);
    const { pages, outline } = servedFrom(
      { around: { span_id: uuidOf('b'), read }, isShown: async () => isShown, rest: async () => {} },
      answer('7', true, [step('d', 'last')], 'more'),
      answer('7', true, [step('b', 'middle'), step('c', 'middle')], 'most'),
      answer('7', true, [step('a')]),
      answer('8', false, [step('e', 'last')]),
    );
    const seen: [number, boolean][] = [];
    outline.columns.subscribe((columns) => columns && seen.push([columns.spans.count, isPart(columns)]));
    outline.refresh();
    await eventually(() => outline.complete.value);
    outline.refresh();
    await eventually(() => outline.columns.value?.spans.count === 5);
    const first = isShown ? [1, true] : [1, false]; // a page without the span would take it off the screen
    assert.equal(seen, [first, [3, false], [4, false], [5, false]]);
    assert.equal(
      pages.map(({ after, fromStart, cursor }) => [after, fromStart, cursor]),
      [
        [null, false, null],
        [null, false, 'more'],
        [null, false, 'most'],
        ['7', false, null],
      ],
    );
    outline.close();
  }
});

test('where the span that the reader looks at is gone, the whole is shown', async () => {
  const read = () => Promise.reject(new Error('the session has no such span'));
  const early = { around: { span_id: uuidOf('b'), read }, isShown: async () => true, rest: async () => {} };
  const { outline } = servedFrom(early, answer('7', true, [step('a')]));
  outline.refresh();
  await eventually(() => outline.complete.value);
  assert.is(outline.failure.value, null);
  assert.is(outline.columns.value?.spans.count, 1);
  outline.close();
});

test('an answer without a change leaves the columns as they are', async () => {
  const { pages, outline } = served(
    answer('7', true, [step('a')]),
    answer('7', false, []),
    answer('8', false, [step('b')]),
  );
  const counts: (number | undefined)[] = [];
  outline.columns.subscribe((columns) => counts.push(columns?.spans.count));
  outline.refresh();
  await eventually(() => outline.complete.value);
  outline.refresh();
  await eventually(() => pages.length === 2);
  await setTimeout(20);
  assert.equal(counts, [undefined, 1]);
  outline.refresh();
  await eventually(() => outline.columns.value?.spans.count === 2);
  assert.equal(counts, [undefined, 1, 2]);
  outline.close();
});

test('an answer of which a page could not be read is read again from its first page', async () => {
  const { pages, outline } = served(
    answer('7', true, [step('b', 'later')], 'more'),
    new Error('the network is gone'),
    answer('7', true, [step('b', 'later')], 'more'),
    answer('7', true, [step('a')]),
  );
  outline.refresh();
  await eventually(() => outline.failure.value !== null);
  assert.is(outline.complete.value, false);
  outline.refresh();
  await eventually(() => outline.complete.value);
  assert.is(outline.columns.value?.spans.count, 2);
  assert.equal(
    pages.map(({ after, cursor }) => [after, cursor]),
    [
      [null, null],
      [null, 'more'],
      [null, null],
      [null, 'more'],
    ],
  );
  outline.close();
});

test('a whole answer replaces what was there, at once', async () => {
  const { outline } = served(
    answer('7', true, [step('a'), step('b')]),
    answer('9', true, [step('x', 'new')], 'more'),
    answer('9', true, [step('y')]),
  );
  const counts: (number | undefined)[] = [];
  outline.columns.subscribe((columns) => counts.push(columns?.spans.count));
  outline.refresh();
  await eventually(() => outline.complete.value);
  outline.refresh();
  await eventually(() => outline.columns.value?.rev === '9');
  assert.equal(counts, [undefined, 2, 2]);
  outline.close();
});

test('what is said while a read is under way leads to one more', async () => {
  const { pages, outline } = served(answer('1', true, [step('a')]), answer('2', false, [step('b')]));
  for (let i = 0; i < 10; i++) outline.refresh();
  await setTimeout(300);
  assert.is(pages.length, 2);
  outline.close();
});

test('a failure is shown, and what was read stays', async () => {
  const { outline } = served(answer('1', true, [step('a')]), new Error('away'), answer('2', false, [step('b')]));
  outline.refresh();
  await eventually(() => outline.complete.value);
  outline.refresh();
  await eventually(() => /away/.test(String(outline.failure.value)));
  assert.is(outline.columns.value?.spans.count, 1);
  outline.refresh();
  await eventually(() => outline.columns.value?.spans.count === 2);
  assert.is(outline.failure.value, null);
  outline.close();
});

test.run();
