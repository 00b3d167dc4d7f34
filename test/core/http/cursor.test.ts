import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { Refusal } from '../../../core/errors.ts';
import { readCursor, writeCursor } from '../../../core/http/cursor.ts';

const test = suite('cursor');
const Key = z.object({ at: z.string(), id: z.number() });
const list = { route: '/v1/things', parameters: { owner: 'ada', limit: undefined } };

test('a key comes back as it was written', async () => {
  await fc.assert(
    fc.property(fc.string(), fc.integer(), (at, id) => {
      assert.equal(readCursor(list, writeCursor(list, { at, id }), Key), { at, id });
    }),
  );
});

test('no cursor is the beginning', () => assert.is(readCursor(list, undefined, Key), null));

test('the cursor of another list, or of other parameters, is refused', () => {
  const cursor = writeCursor(list, { at: 'x', id: 1 });
  for (const foreign of [
    { route: '/v1/others' },
    { route: '/v1/things' },
    { route: '/v1/things', parameters: { owner: 'bob' } },
  ])
    assert.throws(
      () => readCursor(foreign, cursor, Key),
      (error: Error) => error instanceof Refusal && /belongs to another/.test(error.message),
    );
  assert.equal(readCursor({ route: '/v1/things', parameters: { owner: 'ada' } }, cursor, Key), { at: 'x', id: 1 });
});

test('anything broken is refused, never thrown as something else', async () => {
  const cursor = writeCursor(list, { at: 'x', id: 1 });
  const broken = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
    fc.nat(cursor.length - 1).map((cut) => cursor.slice(0, cut)),
    fc.constant(writeCursor(list, { at: 1, id: 'x' })),
    fc.constant(Buffer.from(JSON.stringify([2, '', {}])).toString('base64url')),
  );
  await fc.assert(
    fc.property(broken, (text) => {
      try {
        readCursor(list, text, Key);
        assert.unreachable(text);
      } catch (error) {
        assert.instance(error, Refusal);
        assert.is((error as Refusal).code, 'bad-request');
      }
    }),
  );
});

test.run();
