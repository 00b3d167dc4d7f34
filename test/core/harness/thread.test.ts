/** The thread of a call, by the shared corpus. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { threadOf } from '../../../core/harness/harnesses.ts';
import { fixtureCases, fixtureFolder } from '../../support/fixtures.ts';

const test = suite('thread');

const folder = fixtureFolder('thread');
if (folder) {
  const { cases, digest, expected } = fixtureCases<{ headers: Record<string, string>; thread_id: string }>(folder);
  test('the corpus is the one these expectations were written for', () => {
    assert.is(digest, expected);
    assert.is(cases.length, 8);
  });
  for (const [name, { headers, thread_id }] of cases)
    test(name, () => assert.is(threadOf(Object.entries(headers)), thread_id));
}

test('white space around an id is none of it', () => {
  assert.is(threadOf([['X-Claude-Code-Agent-Id', ' a1 ']]), 'a1');
  assert.is(
    threadOf([
      ['Session-Id', 'x'],
      ['Thread-Id', ' x '],
    ]),
    '',
  );
});

test.run();
