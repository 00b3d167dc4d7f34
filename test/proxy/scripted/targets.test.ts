import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeStands } from '../stand.ts';
import { keptWhatPassed, passesUnchanged } from './play.ts';
import { answers, askHead, asks, client, gets, type Script } from './script.ts';

const test = suite('scripted upstreams: targets and headers');
test.after.each(closeStands);

const TARGETS = [
  '/v1/models?beta=true&beta=false&limit=20',
  '/v1/models?',
  '/v1/models?a=b?c=d',
  '/v1/models?q=a+b%20c%2Bd&empty=&=nameless&&',
  '/v1/models?q[]=1&q{}=|^`',
  '/v1/models/org%2Fmodel',
  '/v1/models/org%2fmodel/..%2F..%2Fx',
  '/v1//models',
  '//v1/models',
  '/v1/models//',
  '/v1/models/',
  '/',
  '/v1/./models/../x',
  '/v1/m;a=1;b=2/x:generate',
  '/v1/%E4%BD%A0?%F0%9F%98%80',
  '/%zz%',
  `/v1/models?${'x'.repeat(8_000)}`,
];

for (const target of TARGETS) {
  test(`the target ${target.slice(0, 60)} arrives as it was written`, async () => {
    const { requests } = await passesUnchanged([gets(target), answers('200 OK', [], 'ok')]);
    assert.is(requests[0]?.start, `GET ${target} HTTP/1.1`);
  });
}

const requestHeaders = [
  'USER-AGENT: agent/1 (a; b)',
  'X-Twice: one',
  'Accept: text/event-stream',
  'x-twice: two',
  'accept: */*;q=0.1',
  'anthropic-beta: a,b',
  'Anthropic-Beta: c',
  'X-Empty:',
  'X-Latin: caf\xe9',
  'X-Quoted: "a, b", \\c\\; \td',
  `X-Long: ${'y'.repeat(20_000)}`,
  "x_under.score~!#$%&'*+-^`|: 1",
  'Via: 1.1 somebody',
  'Forwarded: for=192.0.2.1',
  'X-Forwarded-For: 192.0.2.1',
];
const answerHeaders = [
  'date: Thu, 01 Jan 1970 00:00:00 GMT',
  'SERVER: scripted',
  'Set-Cookie: a=1; Path=/; HttpOnly',
  'set-cookie: b=2',
  'Set-Cookie: a=1; Path=/; HttpOnly',
  'Vary: Accept',
  'vary: Origin',
  'X-Empty:',
  'x-latin: caf\xe9',
  'ETag: W/"x"',
  'Cache-Control: no-store, private="x"',
  'Alt-Svc: h3=":443"',
  'Strict-Transport-Security: max-age=1',
  `x-long: ${'z'.repeat(20_000)}`,
  ...Array.from({ length: 80 }, (_, n) => `x-limit-${n % 40}: ${n}`),
];

const SCRIPTS: Record<string, Script> = {
  'request headers': [asks('{}', requestHeaders), answers('200 OK', [], '{}')],
  'answer headers': [asks(), answers('200 OK', answerHeaders, '{}')],
  'a thousand headers each way': [
    asks(
      '{}',
      Array.from({ length: 1_000 }, (_, n) => `x-h${n}: ${n}`),
    ),
    answers(
      '200 OK',
      Array.from({ length: 1_000 }, (_, n) => `X-H${n}: ${n}`),
      '{}',
    ),
  ],
  'a head whose lines have white space around the values': [
    client('POST /v1/messages HTTP/1.1\r\nHost:a\r\nX-A:   1  \r\nX-B:\t2\t\r\nContent-Length:2\r\n\r\n{}'),
    answers('200 OK', ['X-C:    3   '], '{}'),
  ],
  'what one connection is told': [
    client(
      askHead('/v1/messages', [
        'Connection: keep-alive, X-Hop',
        'Keep-Alive: timeout=9',
        'TE: trailers',
        'Content-Length: 2',
      ]),
      '{}',
    ),
    answers('200 OK', ['Connection: keep-alive', 'Keep-Alive: timeout=1', 'Proxy-Connection: keep-alive'], '{}'),
  ],
};

for (const [what, script] of Object.entries(SCRIPTS)) {
  test(`${what}: order, case, repetition and bytes stay`, async () => keptWhatPassed(await passesUnchanged(script)));
}

test.run();
