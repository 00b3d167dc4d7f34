import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MASKED, masked } from '../../../cassettes/skills/mask.ts';
import { KEPT, PLANTED } from '../../support/planted-secrets.ts';
import { SHAPED } from '../../support/shaped-keys.ts';

const test = suite('mask');

for (const { what, text, secret } of PLANTED)
  test(`${what} is masked, and what stands around it is not`, () => {
    assert.ok(text.includes(secret), 'the plant is in its text');
    const seen = masked(`before it\n${text}\nafter it`);
    assert.not.ok(seen.includes(secret), seen);
    assert.ok(seen.includes(MASKED));
    assert.ok(seen.startsWith('before it\n') && seen.endsWith('\nafter it'), seen);
  });

for (const [what, key] of SHAPED)
  test(`${what}, which the capture proxy knows by its shape, is masked`, () => {
    const seen = masked(`it printed ${key} and went on`);
    assert.not.ok(seen.includes(key.slice(8, 24)), seen);
    assert.match(seen, /^it printed .*\[masked\].* and went on$/s);
  });

for (const { what, text } of KEPT)
  test(`${what} is kept`, () => {
    assert.is(masked(text), text);
  });

test('a token alone before a host is masked, and the name of a user is not', () => {
  const token = '7q3mz2xlk9rtvb4hdj5swpc6ynfg8aeu1oixk2l4mz9qrtvb4hdj';
  assert.is(masked(`origin https://${token}@dev.azure.com/org`), `origin https://${MASKED}@dev.azure.com/org`);
  assert.is(masked('origin ssh://git@github.com/a/b'), 'origin ssh://git@github.com/a/b');
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
