import { suite } from 'uvu';
import { closeStands } from '../stand.ts';
import { keptWhatPassed, passesUnchanged } from './play.ts';
import { answers, asks, type Script, streams } from './script.ts';

const test = suite('scripted upstreams: answers that say no');
test.after.each(closeStands);

const JSON_TYPE = 'Content-Type: application/json';
const refused = (status: string, headers: string[] = [], body = '{"type":"error"}'): Script => [
  asks(),
  answers(status, [JSON_TYPE, 'request-id: req_1', ...headers], body),
];
const limits = [
  'retry-after: 7',
  'retry-after-ms: 7123',
  'anthropic-ratelimit-requests-remaining: 0',
  'anthropic-ratelimit-tokens-reset: 2026-11-21T09:30:00Z',
  'x-should-retry: true',
];

const SCRIPTS: Record<string, Script> = {
  '400': refused('400 Bad Request'),
  '401 with its challenge': refused('401 Unauthorized', [
    'WWW-Authenticate: Bearer realm="api", error="invalid_token"',
  ]),
  '402': refused('402 Payment Required'),
  '404 in HTML': [asks(), answers('404 Not Found', ['Content-Type: text/html'], '<h1>Not Found</h1>')],
  '408 without a body': [asks(), answers('408 Request Timeout', [])],
  '413': refused('413 Payload Too Large'),
  '429 with the limits and when to come again': refused('429 Too Many Requests', limits),
  '429 in chunks': [asks(), ...streams([JSON_TYPE, ...limits], '{"type":', '"error"}')],
  '500': refused('500 Internal Server Error'),
  '503 with a date to come again': refused('503 Service Unavailable', ['Retry-After: Sat, 21 Nov 2026 09:30:00 GMT']),
  '529 of an overloaded provider': refused('529 Overloaded', limits),
  'a status without a reason': refused('529 ', limits),
  'a reason in many words': refused('418 I am a teapot, sorry: short & stout'),
  'a status that nobody knows': refused('799 What'),
  'a redirect, which is the client’s to follow': refused('307 Temporary Redirect', ['Location: /v1/messages/']),
};

for (const [what, script] of Object.entries(SCRIPTS)) {
  test(`${what} comes through whole, and is kept`, async () => keptWhatPassed(await passesUnchanged(script)));
}

test.run();
