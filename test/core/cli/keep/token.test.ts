/** `svc token`, the progress line, and the two tokens in the settings. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newToken, showTokens } from '../../../../core/cli/keep/token.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { OperatorError } from '../../../../core/errors.ts';

const loaded = (env: Record<string, string> = {}) =>
  loadConfig({ flags: {}, env, cwd: '/nonexistent', home: '/nonexistent' });
const printed = (work: (io: { out(text: string): void; err(text: string): void }) => void) => {
  const texts = { out: '', err: '' };
  work({
    out: (text) => {
      texts.out += text;
    },
    err: (text) => {
      texts.err += text;
    },
  });
  return texts;
};

const test = suite('svc token');

test('which are set, and where, but never a token', () => {
  const none = printed((io) => showTokens(loaded(), { json: false }, io));
  assert.match(none.out, /^api\.token +not set; it reads and changes everything\napi\.read_token +not set/);
  assert.match(none.out, 'requires no token: whoever reaches it reads everything');
  const both = loaded({ SVC_API_TOKEN: 'secret-one', SVC_API_READ_TOKEN: 'secret-two' });
  for (const json of [true, false]) {
    const { out } = printed((io) => showTokens(both, { json }, io));
    assert.not.match(out, 'secret-');
    assert.match(out, json ? '"source":"environment"' : 'set by a variable');
  }
});

test('a new one is random, alone on stdout, and fits the settings', () => {
  const [one, two] = [false, true].map((readOnly) =>
    printed((io) => newToken(loaded(), { readOnly, json: false }, io)),
  );
  assert.match(one?.out ?? '', /^[\w-]{43}\n$/);
  assert.not.equal(one?.out, two?.out);
  assert.match(one?.err ?? '', 'SVC_API_TOKEN');
  assert.match(two?.err ?? '', /SVC_API_READ_TOKEN[\s\S]*needs an api\.token beside it/);
  assert.not.match(one?.err ?? '', one?.out.trim() ?? '-');
  const { out } = printed((io) => newToken(loaded(), { readOnly: true, json: true }, io));
  const made = JSON.parse(out) as { key: string; token: string; variable: string };
  assert.is(loaded({ SVC_API_TOKEN: 'other', [made.variable]: made.token }).config.api.read_token, made.token);
});

test('a token that reads is nothing without the other, or if it is the same', () => {
  for (const [env, why] of [
    [{ SVC_API_READ_TOKEN: 'x' }, /api\.token: must be set, since api\.read_token is/],
    [{ SVC_API_TOKEN: 'x', SVC_API_READ_TOKEN: 'x' }, /api\.token, api\.read_token: must differ/],
    [{ SVC_API_TOKEN: 'x', SVC_API_READ_TOKEN: 'a b' }, /must be printable ASCII/],
  ] as const)
    assert.throws(
      () => loaded(env),
      (error: Error) => error instanceof OperatorError && why.test(error.message),
    );
});

test.run();
