/** The places in a response that hold credentials: cookies, redirect addresses, what a provider quotes, and trailers behind its body. */
import type { Planting } from './planting.ts';

const url = (secret: string, parameter: string) => `https://files.example/x?page=7&${parameter}=${secret}&last=9`;

export const ANSWER_PLACES: readonly Planting[] = [
  ['answer', 'a cookie that is set', (secret) => `Set-Cookie: session=${secret}; HttpOnly`],
  ['answer', 'another cookie that is set', (secret) => `set-cookie: refresh=${secret}`],
  ['answer', 'a token that is handed out', (secret) => `X-Refresh-Token: ${secret}`],
  ['answer', 'a header that is repeated', (secret) => `Authorization: Bearer ${secret}`],
  ['answer', 'a key that is repeated', (secret) => `X-Api-Key: ${secret}`],
  ['answer', 'a virtual key of a gateway', (secret) => `x-litellm-key: ${secret}`],
  ['answer', 'a password that is repeated', (secret) => `X-Auth-Pass: ${secret}`],
  ['answer', 'a signature of a hook', (secret) => `X-Webhook-Signature: t=1,v1=${secret}`],
  [
    'answer',
    'a challenge that quotes a key',
    (secret) => `WWW-Authenticate: Bearer realm="x", error="no sk-proj-${secret}"`,
  ],
  ['answer', 'a challenge that quotes a token', (secret) => `Proxy-Authenticate: Basic realm="Bearer ${secret}"`],
  ['answer', 'a warning that quotes a key', (secret) => `Warning: 299 - "sk-ant-api03-${secret} expires soon"`],
  ['answer', 'a JWT in an answer', (secret) => `X-Claims: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkYW5hIn0.${secret}`],
  ['answer', 'a token in a server’s timing', (secret) => `Server-Timing: auth;desc="Bearer ${secret}";dur=2`],
  ['answer', 'a key in a server’s JSON', (secret) => `X-Echo: {"headers":{"x-api-key":"${secret}"}}`],
  ['answer', 'a signed address to go to', (secret) => `Location: ${url(secret, 'sig')}`],
  [
    'answer',
    'a password in an address to go to',
    (secret) => `content-location: https://dana:${secret}@files.example/x`,
  ],
  ['answer', 'a token in the fragment of an address', (secret) => `refresh: 1; url=/cb#access_token=${secret}`],
  ['answer', 'a signed address of an operation', (secret) => `Operation-Location: ${url(secret, 'sig')}`],
  ['answer', 'a signed address of Azure', (secret) => `Azure-AsyncOperation: ${url(secret, 'api_key')}`],
  ['answer', 'a signed link', (secret) => `Link: <${url(secret, 'X-Amz-Signature')}>; rel="next"`],
  ['answer', 'the second of two links', (secret) => `link: <https://h/a?page=7>, <${url(secret, 'key')}>; rel="last"`],
  ['answer', 'a link with a password', (secret) => `Link: <https://dana:${secret}@h/>; rel="self"`],
  ['answer', 'a signed address in another header', (secret) => `X-Result-Url: ${url(secret, 'subscription_key')}`],
  [
    'answer',
    'an encoded address',
    (secret) => `X-Login: /login?back=${encodeURIComponent(`https://h/?token=${secret}`)}`,
  ],
  [
    'answer',
    'a list of addresses to report to',
    (secret) => `Report-To: {"endpoints":[{"url":"https://h/r?key=${secret}"}]}`,
  ],
  [
    'answer',
    'an address in a policy',
    (secret) => `Content-Security-Policy: report-uri https://h/r?access_token=${secret}`,
  ],
  ['answer-trailer', 'a cookie behind the answer', (secret) => `Set-Cookie: late=${secret}`],
  ['answer-trailer', 'a key behind the answer', (secret) => `X-Debug: sk-proj-${secret}`],
];
