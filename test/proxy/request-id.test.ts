import { validate, version } from 'uuid';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { requestId } from '../../proxy/request-id.ts';

const test = suite('requestId');

test('ids are UUIDs v7, differ, and sort in the order in which they were given', () => {
  const ids = Array.from({ length: 20_000 }, requestId);
  assert.ok(ids.every((id) => validate(id) && version(id) === 7));
  assert.equal([...ids].sort(), ids);
  assert.is(new Set(ids.map((id) => id.slice(-12))).size, ids.length);
});

test.run();
