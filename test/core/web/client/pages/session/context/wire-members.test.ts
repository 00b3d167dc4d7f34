import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { membersOf } from '../../../../../../../core/web/client/pages/session/context/wire-members.ts';

const test = suite('the members of a request');

test('are in the order in which they were sent', () => {
  assert.equal(membersOf('{"model":"m","messages":[],"system":"s"}'), ['model', 'messages', 'system']);
});

test('are none where it is no JSON object', () => {
  for (const body of ['', 'null', '7', '{"cut":']) assert.equal(membersOf(body), []);
});

test.run();
