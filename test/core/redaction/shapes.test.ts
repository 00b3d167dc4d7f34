/** Keys are known by their shape wherever they stand in a text; ids, hashes and prose keep their bytes. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { REDACTED } from '../../../core/redaction/shapes.ts';
import { redactText } from '../../../core/redaction/text.ts';
import { SHAPED } from '../../support/shaped-keys.ts';

const test = suite('redaction: shapes');

for (const [what, key] of SHAPED) {
  test(`${what} is replaced in a word, a sentence and a URL`, () => {
    assert.is(redactText(key), REDACTED);
    assert.is(
      redactText(`Incorrect key provided: ${key}. Ask for another`),
      `Incorrect key provided: ${REDACTED}. Ask for another`,
    );
    assert.is(
      redactText(`<https://api.example/${key}?a=1>; rel="next"`),
      `<https://api.example/${REDACTED}?a=1>; rel="next"`,
    );
    assert.not.match(redactText(`a=${encodeURIComponent(`x ${key}`)}`), key.slice(8, 24));
  });
}

for (const [text, kept] of [
  ['Bearer abc', 'Bearer *'],
  ['bearer hunter2', 'bearer *'],
  ['Basic ZGFuYTpodW50ZXIy', 'Basic *'],
  ['via Basic ZGFuYTpodW50ZXI= to there', 'via Basic * to there'],
  ['Authorization: Bearer abc.def-123, retried', 'Authorization: Bearer *, retried'],
  ['{"h":"Bearer q7mz2xlk9rtvb4"}', '{"h":"Bearer *"}'],
  ['DPoP Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU', 'DPoP *'],
  ['Bearer realm="api", error="invalid_token"', 'Bearer realm="api", error="invalid_token"'],
  ['Bearer authorization_uri="https://login.example/x"', 'Bearer authorization_uri="https://login.example/x"'],
  ['Basic realm="x", charset="UTF-8"', 'Basic realm="x", charset="UTF-8"'],
  ['a bearer token where it is asked for', 'a bearer token where it is asked for'],
  ['Use basic authentication', 'Use basic authentication'],
  ['Negotiate YIIJvwYGKwYBBQUCoIIJszCCCa+gMDAuBgkq', 'Negotiate *'],
] as const) {
  test(`scheme: ${text}`, () => assert.is(redactText(text), kept.replaceAll('*', REDACTED)));
}

for (const text of `req_011CSHoEeqs5C35K2UUqR7Fy;ad1818cb081ac82a-DEV;00-b68c01b41ee4782bd7fd4e31ce7ce5d0-f31de87029fa47ba-01
;01a1fc51-60a5-7ce1-8dbc-3bf8c600bdd2:0;ses_e03ac4691ffextoCcf3CwniHJ9;Mon, 27 Jul 2026 21:32:32 GMT;W/"33a64df551425fcc55e4d42a148795d9f25f89d4"
;claude-cli/2.1.197 (external, sdk-cli);text/event-stream; charset=utf-8;Root=1-67891233-abcdef012345678912345678
;sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08;max-age=31536000; includeSubDomains; preload
;claude-code-20250219,context-1m-2025-08-07,interleaved-thinking-2025-05-14,thinking-token-count-2026-05-13
;task-0123456789abcdef0123;risk-assessment-2026-for-the-board;{"session_id":"01a1fc51","max_tokens":4096};chatcmpl-9YgBQx2mKkq8bVt7tZ3WfR5aZcD1n
;resp_0a1b2c3d4e5f60718293a4b5c6d7e8f9;msg_01XFDUDYJgAACzvnptvVoYEL;toolu_01A09q90qw90lq917835lq9;org-AbCdEf0123456789GhIjKl;proj_AbCdEf0123456789`
  .replaceAll('\n', '')
  .split(/;(?! )/)) {
  test(`kept: ${text}`, () => assert.is(redactText(text), text));
}

test.run();
