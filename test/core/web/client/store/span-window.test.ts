import { setImmediate } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Span, spanExample } from '../../../../../core/model/span.ts';
import { type ReadWindow, spanWindow, type WantedSpan } from '../../../../../core/web/client/store/span-window.ts';
import { uuidOf } from '../../../../support/outline-answer.ts';

const test = suite('spanWindow');

const wanted = (trace: string, seq: number, changed = 1): WantedSpan => ({
  ...{ trace_id: uuidOf(trace), span_id: uuidOf(`${trace} ${seq}`), seq, changed },
});
const spans = (trace: string, from: number, to: number): WantedSpan[] =>
  Array.from({ length: to - from }, (_, i) => wanted(trace, from + i));
const span = ({ trace_id, span_id, seq }: WantedSpan): Span => ({
  ...spanExample,
  kind: 'llm',
  status: 'ok',
  trace_id,
  span_id,
  seq,
});

/** A reader that answers when it is let, and remembers what it was asked for. */
function reader() {
  const requests: {
    trace_id: string;
    from_seq: number;
    limit: number;
    signal: AbortSignal;
    answer: (text?: string) => void;
    fail: (error: Error) => void;
  }[] = [];
  const read: ReadWindow = (trace_id, { from_seq, limit }, signal) =>
    new Promise((resolve, fail) => {
      signal.addEventListener('abort', () => fail(new Error('aborted')));
      const answer = (stop_reason = 'end_turn') => {
        const name = [...'abcdefgh'].find((trace) => uuidOf(trace) === trace_id) ?? '';
        resolve({
          items: spans(name, from_seq, from_seq + limit).map((one) => ({
            ...span(one),
            stop_reason,
            payload: 'preview',
          })),
        });
      };
      requests.push({ trace_id, from_seq, limit, signal, answer, fail });
    });
  return { requests, read };
}
const never = () => Promise.reject(new Error('no whole span was wanted'));

test('spans of one trace are read in one window, and each has its text', async () => {
  const { requests, read } = reader();
  const window = spanWindow(read, never);
  window.show(spans('a', 10, 30));
  assert.equal(
    requests.map(({ from_seq, limit }) => [from_seq, limit]),
    [[10, 20]],
  );
  const text = window.text(wanted('a', 12));
  assert.is(text.value, undefined);
  requests[0]?.answer();
  await setImmediate();
  assert.is(text.value?.span.seq, 12);
  window.show(spans('a', 10, 30));
  assert.is(requests.length, 1);
});

test('at most three windows are read at once, the most urgent first', async () => {
  const { requests, read } = reader();
  const window = spanWindow(read, never);
  window.show(['a', 'b', 'c', 'd'].flatMap((trace) => spans(trace, 0, 60)));
  assert.is(requests.length, 3);
  requests[0]?.answer();
  await setImmediate();
  assert.is(requests.length, 4);
  assert.equal(
    requests.map(({ trace_id, limit }) => [trace_id, limit]),
    [
      [uuidOf('a'), 50],
      [uuidOf('a'), 10],
      [uuidOf('b'), 50],
      [uuidOf('b'), 10],
    ],
  );
});

test('what was scrolled past is given up', async () => {
  const { requests, read } = reader();
  const window = spanWindow(read, never);
  window.show(['a', 'b', 'c', 'd'].flatMap((trace) => spans(trace, 0, 10)));
  window.show(spans('b', 5, 20));
  assert.equal(
    requests.map(({ signal }) => signal.aborted),
    [true, false, true],
  );
  await setImmediate();
  assert.equal(
    requests.slice(3).map(({ trace_id, from_seq }) => [trace_id, from_seq]),
    [[uuidOf('b'), 10]],
  );
  assert.is(window.failure.value, null);
});

test('a span that changed is read again, and its old text stays until then', async () => {
  const { requests, read } = reader();
  const window = spanWindow(read, never);
  window.show([wanted('a', 0)]);
  requests[0]?.answer('first');
  await setImmediate();
  window.show([wanted('a', 0, 2)]);
  assert.is(window.text(wanted('a', 0)).value?.span.stop_reason, 'first');
  requests[1]?.answer('second');
  await setImmediate();
  assert.is(window.text(wanted('a', 0)).value?.span.stop_reason, 'second');
});

test('a whole span is read once, and a shortened one does not replace it', async () => {
  const { requests, read } = reader();
  let whole = 0;
  const window = spanWindow(read, async () => {
    whole++;
    return span(wanted('a', 0));
  });
  await Promise.all([window.readWhole(wanted('a', 0))]);
  await window.readWhole(wanted('a', 0));
  assert.is(whole, 1);
  window.show([wanted('a', 0), wanted('a', 1)]);
  requests[0]?.answer();
  await setImmediate();
  assert.is(window.text(wanted('a', 0)).value?.whole, true);
  assert.is(window.text(wanted('a', 1)).value?.whole, false);
});

test('a failure is shown, and the next try replaces it', async () => {
  const { requests, read } = reader();
  const window = spanWindow(read, never);
  window.show([wanted('a', 0)]);
  requests[0]?.fail(new Error('away'));
  await setImmediate();
  assert.match(String(window.failure.value), /away/);
  window.show([wanted('a', 0)]);
  requests[1]?.answer();
  await setImmediate();
  assert.is(window.failure.value, null);
});

test('what failed is read again when somebody tries again, and a window that could be read does not hide it', async () => {
  const { requests, read } = reader();
  const window = spanWindow(read, never);
  window.show([wanted('a', 0), wanted('b', 0)]);
  requests[0]?.fail(new Error('away'));
  await setImmediate();
  requests[1]?.answer();
  await setImmediate();
  assert.match(String(window.failure.value), /away/);
  const before = window.attempt.value;
  window.retry();
  assert.is(window.failure.value, null);
  assert.is(window.attempt.value, before + 1);
  assert.equal(
    requests.slice(2).map(({ trace_id }) => trace_id),
    [uuidOf('a')],
  );
  requests[2]?.answer();
  await setImmediate();
  assert.is(window.text(wanted('a', 0)).value?.span.seq, 0);
  assert.is(window.failure.value, null);
});

test('the least recently used texts are forgotten', async () => {
  const { requests, read } = reader();
  const window = spanWindow(read, never);
  for (let from = 0; from < 2_100; from += 50) {
    window.show(spans('a', from, from + 50));
    requests.at(-1)?.answer();
    await setImmediate();
  }
  assert.is(window.text(wanted('a', 0)).value, undefined);
  assert.is(window.text(wanted('a', 2_099)).value?.span.seq, 2_099);
});

test('a whole text that cannot be read is a failure, until one can be', async () => {
  const refused = new Error('refused');
  let whole: () => Promise<Span> = () => Promise.reject(refused);
  const window = spanWindow(reader().read, () => whole());
  await window.readWhole(wanted('a', 1)).catch((error) => assert.is(error, refused));
  assert.is(window.failure.value, refused);
  whole = async () => span(wanted('a', 1));
  await window.readWhole(wanted('a', 1));
  assert.is(window.failure.value, null);
});

test.run();
