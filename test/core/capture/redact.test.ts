import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { REDACTED, redactHeaders, redactUrl } from '../../../core/capture/redact.ts';

const test = suite('redact');

const credentials = `authorization Proxy-Authorization X-API-KEY api-key x-goog-api-key Cookie set-cookie x-paper-auth x-auth-token
  X-Amz-Security-Token openai-actor-authorization X-My-Secret x-password Ocp-Apim-Subscription-Key x_api_key apikey x-access-key
  x-functions-key X-CSRF-Token client-credential x-auth sec-websocket-protocol refresh-tokens x-tokens-secret`;
const others = `anthropic-ratelimit-tokens-remaining anthropic-ratelimit-input-tokens-limit x-ratelimit-limit-tokens X-RateLimit-Reset-Tokens
  x-ratelimit-remaining-tokens_usage_based anthropic-beta user-agent x-svc-auth-subject x-claude-code-session-id content-type etag max-tokens
  x-stainless-retry-count idempotency-key sec-websocket-key x-request-id www-authenticate author x-output-tokens-used`;

for (const name of credentials.trim().split(/\s+/)) {
  test(`header ${name} is a credential`, () => assert.equal(redactHeaders([name, 's']), [[name, REDACTED]]));
}
for (const name of others.trim().split(/\s+/)) {
  test(`header ${name} is kept`, () => assert.equal(redactHeaders([name, 's']), [[name, 's']]));
}

test('order, case and repetition stay', () => {
  assert.equal(redactHeaders(['B', '1', 'x-Api-Key', 's', 'b', '2', 'X-API-key', 't', 'B', '']), [
    ['B', '1'],
    ['x-Api-Key', REDACTED],
    ['b', '2'],
    ['X-API-key', REDACTED],
    ['B', ''],
  ]);
});

test('addresses in headers lose the keys in their queries', () => {
  assert.equal(redactHeaders(['Location', 'https://a/b?x=1&token=s', 'Referer', '/x?sig=s']), [
    ['Location', `https://a/b?x=1&token=${REDACTED}`],
    ['Referer', `/x?sig=${REDACTED}`],
  ]);
});

for (const [name, value, kept] of [
  ['Referer', 'https://dana:s@h/x?a=1#b', 'https://*@h/x?a=1#b'],
  ['Location', 'https://h/cb#access_token=s&x=1', 'https://h/cb#access_token=*&x=1'],
  ['Location', '//dana:s@h/', '//*@h/'],
  ['Location', '/x//a@b?c=1', '/x//a@b?c=1'],
  ['Refresh', '5; url=https://dana:s@h/x?key=s', '5; url=https://*@h/x?key=*'],
  ['X-Original-URL', '/x?a=1&key=s', '/x?a=1&key=*'],
  ['X-Forwarded-Uri', '/x?sig=s', '/x?sig=*'],
] as const) {
  test(`header ${name}: ${value} loses its credentials and nothing else`, () =>
    assert.equal(redactHeaders([name, value]), [[name, kept.replaceAll('*', REDACTED)]]));
}

for (const [url, kept] of [
  ['/v1/messages', '/v1/messages'],
  ['/v1/messages?', '/v1/messages?'],
  ['/key=1/x', '/key=1/x'],
  ['/x?beta=true&key=s&y', `/x?beta=true&key=${REDACTED}&y`],
  [
    '/x?API_KEY=s&apikey=t&access_token=u&sig=v&signature=w&code=x',
    '/x?API_KEY=*&apikey=*&access_token=*&sig=*&signature=*&code=*',
  ],
  ['/x?%6Bey=s&k%65y=t&+key=u', '/x?%6Bey=*&k%65y=*&+key=*'],
  ['/x?a=1;key=s;b=2', '/x?a=1;key=*'],
  ['/x?key=a;b=c', '/x?key=*'],
  ['/x?key=a?b=c', '/x?key=*'],
  ['/x?key', '/x?key'],
  ['/x?%zz=1&key=s', '/x?%zz=1&key=*'],
  ['/x?max_tokens=5&keyboard=us&monkey=1', '/x?max_tokens=5&keyboard=us&monkey=1'],
  [
    '/x?X-Amz-Signature=s&X-Amz-Credential=t&X-Amz-Security-Token=u&X-Amz-Date=1',
    '/x?X-Amz-Signature=*&X-Amz-Credential=*&X-Amz-Security-Token=*&X-Amz-Date=1',
  ],
] as const) {
  test(`url ${url}`, () => assert.is(redactUrl(url), kept.replaceAll('*', REDACTED)));
}

test('what is no credential keeps its bytes', () => {
  const parameter = fc.tuple(
    fc.constantFrom('a', 'B%41', 'page', 'beta', ''),
    fc.string().map((text) => text.replace(/[&;?]/g, '')),
  );
  fc.assert(
    fc.property(fc.array(parameter), (parameters) => {
      const url = `/x//..%2f?${parameters.map(([name, value]) => `${name}=${value}`).join('&')}`;
      assert.is(redactUrl(url), url);
    }),
  );
});

test('a secret among any parameters is found', () => {
  const noise = fc.string().map((text) => text.replace(/SECRET/g, ''));
  fc.assert(
    fc.property(noise, noise, fc.constantFrom('key', 'api_key', 'token'), (before, after, name) => {
      assert.not.match(redactUrl(`/x?${before}&${name}=SECRET&${after}`), /SECRET/);
    }),
  );
});

test.run();
