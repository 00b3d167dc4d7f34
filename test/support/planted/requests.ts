/** The places in a request that hold credentials: headers by name, any header by shape, URLs, its address and trailers behind its body. */
import type { Planting } from './planting.ts';

const basic = (secret: string) => Buffer.from(`dana:${secret}`).toString('base64');
const encoded = (secret: string, before: string) => encodeURIComponent(`${before}${secret}`);

const named = (names: string): Planting[] =>
  names
    .trim()
    .split(/\s+/)
    .map((name) => ['request', `the header ${name}`, (secret) => `${name}: ${secret}`]);

const parameters = (names: string): Planting[] =>
  names
    .trim()
    .split(/\s+/)
    .map((name) => ['query', `the parameter ${name}`, (secret) => `${name}=${secret}`]);

export const REQUEST_PLACES: readonly Planting[] = [
  ['request', 'a bearer token', (secret) => `Authorization: Bearer ${secret}`],
  ['request', 'a token that is repeated in another case', (secret) => `AUTHORIZATION: Basic ${basic(secret)}`],
  ['request', 'a forward proxy’s password', (secret) => `Proxy-Authorization: Basic ${basic(secret)}`],
  ['request', 'a cookie', (secret) => `Cookie: theme=dark; session=${secret}`],
  ['request', 'another cookie', (secret) => `cookie: ${secret}`],
  ...named(`x-api-key Api-Key X-Goog-Api-Key Ocp-Apim-Subscription-Key x-functions-key X-Amz-Security-Token X-Vault-Token
    X-CSRF-Token CF-Access-Client-Secret openai-actor-authorization X-Db-Password
    Helicone-Auth x-bf-vk x-portkey-api-key x-portkey-virtual-key x-litellm-key x-litellm-api-key X-Virtual-Key cf-aig-authorization
    x-amzn-oidc-data x-amzn-oidc-accesstoken x-ms-client-principal X-MS-TOKEN-AAD-ID-TOKEN x-goog-iap-jwt-assertion
    Cf-Access-Jwt-Assertion X-Forwarded-Access-Token x-original-authorization X-RapidAPI-Key x-gateway-apikey dd-api-key
    x-honeycomb-team x-langfuse-secret-key Private-Token x-user-pwd x-service-pass X-Auth X-Sentry-Auth x-otp x-hub-signature-256
    X-ApiKey x_master_key x-key-2 DPoP`),
  // by shape, under names that mean nothing
  ['request', 'a bearer token in another header', (secret) => `X-Upstream: Bearer ${secret}`],
  ['request', 'a password in another header', (secret) => `X-Via-Gateway: Basic ${basic(secret)}`],
  ['request', 'a key of OpenAI in a header', (secret) => `X-Debug-1: sk-proj-${secret}`],
  ['request', 'a key of Anthropic in a sentence', (secret) => `X-Debug-2: called with sk-ant-api03-${secret}, twice`],
  ['request', 'a token of GitHub in a header', (secret) => `X-Debug-3: ghp_${secret}`],
  ['request', 'a fine-grained token of GitHub', (secret) => `X-Debug-4: github_pat_${secret}`],
  ['request', 'a token of Slack', (secret) => `X-Debug-5: xoxb-123-${secret}`],
  ['request', 'a token of Hugging Face', (secret) => `X-Debug-6: hf_${secret}`],
  ['request', 'a token of GitLab', (secret) => `X-Debug-7: glpat-${secret}`],
  ['request', 'a key of Google', (secret) => `X-Debug-8: AIza${secret}abcdef`],
  ['request', 'a JWT', (secret) => `X-Debug-9: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkYW5hIn0.${secret}`],
  [
    'request',
    'a private key',
    (secret) => `X-Debug-10: -----BEGIN PRIVATE ${'KEY'}-----${secret}-----END PRIVATE ${'KEY'}-----`,
  ],
  ['request', 'a key as the id of a request', (secret) => `X-Request-Id: sk-ant-api03-${secret}`],
  ['request', 'a key in the name of an agent', (secret) => `User-Agent: agent/1 (sk-proj-${secret})`],
  ['request', 'a random value under a name that allows for one', (secret) => `X-Auth-Info: ${secret}`],
  ['request', 'a key in the configuration of a gateway', (secret) => `x-portkey-config: {"api_key":"${secret}"}`],
  ['request', 'a password in JSON', (secret) => `X-Meta: {"db": {"password": "${secret}"}}`],
  ['request', 'a token among values', (secret) => `X-Values: theme=dark; access_token=${secret}; a=1`],
  [
    'request',
    'a key in the metadata of the envelope',
    (secret) => `x-svc-harness-metadata: ${Buffer.from(JSON.stringify({ api_key: secret })).toString('base64url')}`,
  ],
  ['request', 'a key in the name of a session', (secret) => `x-svc-session-name: rotate%20sk-proj-${secret}`],
  // in URLs
  ['request', 'a query of the page before', (secret) => `Referer: https://chat.example/?a=1&access_token=${secret}`],
  ['request', 'a password of the page before', (secret) => `referer: https://dana:${secret}@chat.example/`],
  ['request', 'a fragment of the page before', (secret) => `Referer: https://chat.example/#id_token=${secret}`],
  ['request', 'a query that a gateway repeats', (secret) => `X-Original-URL: /v1/messages?key=${secret}`],
  ['request', 'an address to call back', (secret) => `X-Callback: https://chat.example/cb?page=7&key[]=${secret}`],
  ['request', 'a password of a database', (secret) => `X-Store: postgres://app:${secret}@db.example/app`],
  ['request', 'an address in an address', (secret) => `X-Next: /go?to=${encoded(secret, 'https://h/?token=')}&page=7`],
  ['request', 'a hook of Slack', (secret) => `X-Hook: https://hooks.slack.com/services/T00/B00/${secret}`],

  ...parameters(`key API_KEY access_token %6b%65y client_secret code pass pwd key[] key%5B%5D auth vk subscription_key my_key
    apikey virtualKey refresh_token id_token user[password] x-api-key assertion`),
  ['query', 'a signature', (secret) => `X-Amz-Signature=${secret}&X-Amz-Date=1`],
  ['query', 'a credential of AWS', (secret) => `X-Amz-Credential=${secret}/20261122/eu-west-1`],
  ['query', 'a short signature', (secret) => `sv=1&sig=${secret}`],
  ['query', 'a parameter behind a semicolon', (secret) => `b=1;token=${secret}`],
  ['query', 'a key of OpenAI in a query', (secret) => `q=sk-proj-${secret}`],
  ['query', 'a bearer token in a query', (secret) => `h=${encoded(secret, 'Bearer ')}`],
  ['query', 'an address with a password in a query', (secret) => `back=https://dana:${secret}@h/x`],
  ['query', 'an encoded address in a query', (secret) => `back=${encoded(secret, 'https://h/?access_token=')}`],
  ['query', 'an address encoded twice', (secret) => `back=${encodeURIComponent(encoded(secret, 'https://h/?token='))}`],
  ['fragment', 'a token in the fragment', (secret) => `access_token=${secret}`],
  ['fragment', 'a key in the fragment', (secret) => `state=1&key=${secret}`],
  ['address', 'a password in the address', (secret) => `dana:${secret}@`],
  ['trailer', 'a key behind the request', (secret) => `X-Api-Key: ${secret}`],
  ['trailer', 'a key of OpenAI behind the request', (secret) => `X-Checked: sk-proj-${secret}`],
  ['socket', 'a key among the protocols of a socket', (secret) => `openai-insecure-api-key.${secret}`],
];
