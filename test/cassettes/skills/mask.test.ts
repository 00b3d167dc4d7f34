import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MASKED, masked } from '../../../cassettes/skills/mask.ts';
import { KEPT, PLANTED } from '../../support/planted-secrets.ts';

const test = suite('mask');

for (const { what, text, secret } of PLANTED)
  test(`${what} is masked, and what stands around it is not`, () => {
    assert.ok(text.includes(secret), 'the plant is in its text');
    const seen = masked(`before it\n${text}\nafter it`);
    assert.not.ok(seen.includes(secret), seen);
    assert.ok(seen.includes(MASKED));
    assert.ok(seen.startsWith('before it\n') && seen.endsWith('\nafter it'), seen);
  });

for (const { what, text } of KEPT)
  test(`${what} is kept`, () => {
    assert.is(masked(text), text);
  });

test('what was masked is not masked again', () => {
  const once = PLANTED.map(({ text }) => masked(text)).join('\n');
  assert.is(masked(once), once);
});

test('a hostile text is read in time', () => {
  for (const piece of ['a', 'a:', '"', 'x=', '://a', '-----BEGIN PRIVATE KEY', 'token ', '\\"a\\":'])
    assert.ok(masked(piece.repeat(20_000)).length > 0);
});

test.run();
