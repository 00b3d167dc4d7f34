import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { redactHeaders } from '../../../core/capture/redact.ts';
import { REDACTED } from '../../../core/redaction/shapes.ts';
import { redactUrl } from '../../../core/redaction/url.ts';

const test = suite('redact');

const credentials = `authorization Proxy-Authorization X-API-KEY api-key x-goog-api-key Cookie set-cookie x-paper-auth x-auth-token
  X-Amz-Security-Token openai-actor-authorization X-My-Secret x-password Ocp-Apim-Subscription-Key x_api_key apikey x-access-key
  x-functions-key X-CSRF-Token client-credential x-auth sec-websocket-protocol refresh-tokens x-tokens-secret Sec-WebSocket-Protocol
  helicone-auth X-Helicone-Auth x-bf-vk X-BF-VK x-portkey-virtual-key x-portkey-api-key X-VirtualKey x-litellm-key X-Litellm-Key cf-aig-authorization
  x-amzn-oidc-data X-Amzn-Oidc-Data x-amzn-oidc-accesstoken x-ms-client-principal X-MS-CLIENT-PRINCIPAL x-goog-iap-jwt-assertion
  cf-access-jwt-assertion x-rapidapi-key x-gateway-apikey X-ApiKey x_virtual_key x-honeycomb-team dd-api-key DPoP x-hub-signature-256 x-key-2
  x-encryption-key x-langfuse-secret-key private-token cookie2 x-forwarded-access-token x-ms-token-aad-id-token x-auth-pass x-user-pwd x-otp
  x-goog-iam-authorization-token x-amz-server-side-encryption-customer-key x-original-authorization x-azure-sas stripe-signature`;
const others = `anthropic-ratelimit-tokens-remaining anthropic-ratelimit-input-tokens-limit x-ratelimit-limit-tokens X-RateLimit-Reset-Tokens
  x-ratelimit-remaining-tokens_usage_based anthropic-beta user-agent x-svc-auth-subject x-claude-code-session-id content-type etag max-tokens
  x-stainless-retry-count idempotency-key sec-websocket-key Sec-WebSocket-Key x-request-id www-authenticate author x-output-tokens-used
  x-session-id session-id thread-id x-session-affinity x-codex-turn-metadata x-codex-window-id traceparent cf-ray request-id anthropic-organization-id
  openai-organization openai-project Idempotency-Key x-litellm-key-spend x-litellm-key-tpm-limit llm_provider-x-ratelimit-remaining-tokens
  x-ms-client-principal-id x-ms-client-principal-name x-auth-request-user x-auth-request-email x-cache-key surrogate-key proxy-authenticate
  x-token-count x-svc-harness-session-id x-svc-harness-metadata x-svc-session-name monkey x-keyboard x-passenger x-signed-headers x-codec`;

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
  ['Link', '<https://h/x?sig=s&p=2>; rel="next"', '<https://h/x?sig=*&p=2>; rel="next"'],
  [
    'Operation-Location',
    'https://h/openai/operations/1?sig=s,t&api-version=1',
    'https://h/openai/operations/1?sig=*&api-version=1',
  ],
  [
    'Azure-AsyncOperation',
    'https://dana:s@h/o?api-version=1&subscription_key=s',
    'https://*@h/o?api-version=1&subscription_key=*',
  ],
  ['X-Debug', 'see https://h/x?a=1&key=s now', 'see https://h/x?a=1&key=* now'],
  ['X-Portkey-Config', '{"provider":"openai","api_key":"s"}', '{"provider":"openai","api_key":"*"}'],
  ['X-Auth-Info', 'q7mZ2xLk9RtVb4NcYp8WsJd3HfGa6TuE', '*'],
  ['X-Key-Source', '9f86d081884c7d659a2feaa0c55ad015', '*'],
  ['X-Key-Source', 'claude-sonnet-4-5-20250929', 'claude-sonnet-4-5-20250929'],
  ['X-Forwarded-User', 'Bearer s', 'Bearer *'],
  ['X-Request-Id', 'sk-ant-oat01-Q7mZ2xLk9RtVb4NcYp8W', '*'],
  ['WWW-Authenticate', 'Bearer realm="api", error="invalid_token"', 'Bearer realm="api", error="invalid_token"'],
  ['X-Svc-Session-Name', 'rotate%20sk-proj-Q7mZ2xLk9RtVb4NcYp8W', '*'],
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

test('a value under a name that allows for a credential, too long to be looked through, is replaced whole', () => {
  assert.equal(redactHeaders(['x-auth-info', 'a b '.repeat(3000)]), [['x-auth-info', REDACTED]]);
  const long = 'a b '.repeat(3000);
  assert.equal(redactHeaders(['x-info', `${long} key sk-ant-${'api03'}-Q7mZ2xLk9RtVb4`]), [
    ['x-info', `${long} key ${REDACTED}`],
  ]);
});

test('the metadata of the envelope keeps its bytes, or loses what is named for a credential', () => {
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const [plain, planted] = [encoded({ a: [1], team: 'x' }), encoded({ a: [1], api_key: 's' })];
  assert.equal(redactHeaders(['x-svc-harness-metadata', plain]), [['x-svc-harness-metadata', plain]]);
  assert.equal(redactHeaders(['X-Svc-Harness-Metadata', planted]), [
    ['X-Svc-Harness-Metadata', encoded({ a: [1], api_key: REDACTED })],
  ]);
});

test('a value that was seen before is judged as it was the first time', () => {
  for (let times = 0; times < 3; times++)
    for (const value of ['a', 'https://h/?key=s', 'b', 'c', 'd', 'e'])
      assert.equal(redactHeaders(['x-seen', value]), [['x-seen', value.replace('=s', `=${REDACTED}`)]]);
});

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
