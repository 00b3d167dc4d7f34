import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SessionMatch } from '../../../../../../../core/model/find.ts';
import { foundKey } from '../../../../../../../core/web/client/pages/session/find/found.ts';
import { inOrder } from '../../../../../../../core/web/client/pages/session/find/found-order.ts';

const test = suite('inOrder');
const found = (span_id: string, rest: Partial<SessionMatch> = {}): SessionMatch => ({
  ...{ trace_id: 't', span_id, raw_turn_id: null, place: 'conversation', side: 'output', block: 0, start: 0, end: 1 },
  ...{ before: '', match: 'x', after: '' },
  ...rest,
});
const rankOf = ({ span_id }: SessionMatch) => ['a', 'b', 'c'].indexOf(span_id);

test('what is found goes as the conversation does, and within a step from input to error', () => {
  const sorted = inOrder(
    [
      found('b'),
      found('a', { side: 'error' }),
      found('a', { block: 1 }),
      found('a', { start: 5 }),
      found('a', { side: 'input' }),
    ],
    rankOf,
  );
  assert.equal(
    sorted.map(({ span_id, side, block, start }) => `${span_id} ${side} ${block} ${start}`),
    ['a input 0 0', 'a output 0 5', 'a output 1 0', 'a error 0 0', 'b output 0 0'],
  );
});

test('what is in order already stays the same array, however long', () => {
  const long = Array.from({ length: 3 }, (_, n) => found('abc'[n] ?? 'c'));
  assert.is(inOrder(long, rankOf), long);
});

test('a step that the outline does not have yet comes last', () => {
  const sorted = inOrder([found('new'), found('c')], (one) =>
    rankOf(one) < 0 ? Number.POSITIVE_INFINITY : rankOf(one),
  );
  assert.equal(
    sorted.map(({ span_id }) => span_id),
    ['c', 'new'],
  );
});

test('the key of an address tells hits of one block apart', () => {
  const span_id = '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112';
  assert.is(foundKey(found(span_id, { block: 2, start: 7, end: 9 })), '1d3b5e6f.output.2.7.9');
});

test.run();
