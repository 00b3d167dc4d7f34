/** Where do credentials stand in a call? Each place with a secret of its own, so that a leak says where it came from. */

export type Credential = { where: string; place: Place; line: string; secret: string };
type Place = 'request' | 'query' | 'address' | 'trailer' | 'answer' | 'answer-trailer' | 'socket' | 'settings';

/** The words of a call that are kept; who finds a secret nowhere has to find these, or has looked in the wrong place. */
export const KEPT_WORD = 'kept-4711';

const PLACES: readonly [Place, where: string, lineOf: (secret: string) => string][] = [
  ['request', 'a bearer token', (secret) => `Authorization: Bearer ${secret}`],
  ['request', 'a key of Anthropic', (secret) => `x-api-key: ${secret}`],
  ['request', 'a key of Azure', (secret) => `Api-Key: ${secret}`],
  ['request', 'a key of Google', (secret) => `X-Goog-Api-Key: ${secret}`],
  ['request', 'a key of a gateway', (secret) => `Ocp-Apim-Subscription-Key: ${secret}`],
  ['request', 'a key of a function', (secret) => `x-functions-key: ${secret}`],
  ['request', 'a session token of AWS', (secret) => `X-Amz-Security-Token: ${secret}`],
  ['request', 'a token of a vault', (secret) => `X-Vault-Token: ${secret}`],
  ['request', 'a token against forgery', (secret) => `X-CSRF-Token: ${secret}`],
  ['request', 'a secret of an access service', (secret) => `CF-Access-Client-Secret: ${secret}`],
  ['request', 'an actor of OpenAI', (secret) => `openai-actor-authorization: ${secret}`],
  ['request', 'a password in a header', (secret) => `X-Db-Password: ${secret}`],
  ['request', 'a token that is repeated in another case', (secret) => `AUTHORIZATION: Basic ${basic(secret)}`],
  ['request', 'a forward proxy’s password', (secret) => `Proxy-Authorization: Basic ${basic(secret)}`],
  ['request', 'a cookie', (secret) => `Cookie: theme=dark; session=${secret}`],
  ['request', 'another cookie', (secret) => `cookie: ${secret}`],
  ['request', 'a query of the page before', (secret) => `Referer: https://chat.example/?a=1&access_token=${secret}`],
  ['request', 'a password of the page before', (secret) => `referer: https://dana:${secret}@chat.example/`],
  ['request', 'a query that a gateway repeats', (secret) => `X-Original-URL: /v1/messages?key=${secret}`],
  ['query', 'a key in the query', (secret) => `key=${secret}`],
  ['query', 'a key under another name', (secret) => `API_KEY=${secret}`],
  ['query', 'a token in the query', (secret) => `access_token=${secret}`],
  ['query', 'a name that is encoded', (secret) => `%6b%65y=${secret}`],
  ['query', 'a signature', (secret) => `X-Amz-Signature=${secret}&X-Amz-Date=1`],
  ['query', 'a short signature', (secret) => `sv=1&sig=${secret}`],
  ['query', 'a parameter behind a semicolon', (secret) => `b=1;token=${secret}`],
  ['query', 'a secret of a client', (secret) => `client_secret=${secret}`],
  ['query', 'a code to be exchanged', (secret) => `code=${secret}`],
  ['address', 'a password in the address', (secret) => `dana:${secret}@`],
  ['trailer', 'a key behind the request', (secret) => `X-Api-Key: ${secret}`],
  ['answer', 'a cookie that is set', (secret) => `Set-Cookie: session=${secret}; HttpOnly`],
  ['answer', 'another cookie that is set', (secret) => `set-cookie: refresh=${secret}`],
  ['answer', 'a token that is handed out', (secret) => `X-Refresh-Token: ${secret}`],
  ['answer', 'a signed address to go to', (secret) => `Location: https://files.example/x?sig=${secret}`],
  [
    'answer',
    'a password in an address to go to',
    (secret) => `content-location: https://dana:${secret}@files.example/x`,
  ],
  ['answer', 'a token in the fragment of an address', (secret) => `refresh: 1; url=/cb#access_token=${secret}`],
  ['answer-trailer', 'a cookie behind the answer', (secret) => `Set-Cookie: late=${secret}`],
  ['socket', 'a key among the protocols of a socket', (secret) => `openai-insecure-api-key.${secret}`],
  ['settings', 'a forward proxy’s password in the environment', (secret) => `http://dana:${secret}@`],
];

const basic = (secret: string) => Buffer.from(`dana:${secret}`).toString('base64');

/** Put together here, so that no scanner of repositories finds one. */
export const CREDENTIALS: readonly Credential[] = PLACES.map(([place, where, lineOf], n) => {
  const secret = `Zq${String(n).padStart(2, '0')}x7LkRtVbNcYpWs${'JdHfGaTuE'}`;
  return { where, place, line: lineOf(secret), secret };
});

export const linesAt = (place: Place): string[] =>
  CREDENTIALS.flatMap((credential) => (credential.place === place ? [credential.line] : []));

/** Which of them stand in these bytes, as they are, in base64, or in hex. */
export function leaksIn(bytes: Buffer): string[] {
  const text = bytes.toString('latin1');
  return CREDENTIALS.flatMap(({ where, secret }) =>
    [secret, basic(secret), Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')].some((form) =>
      text.includes(form),
    )
      ? [where]
      : [],
  );
}
