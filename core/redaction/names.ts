/** Names under which credentials are sent: of headers, of parameters in queries and of members in JSON. */

/** Headers with credentials according to their makers, though their names do not show it. */
const HEADERS = new Set([
  'sec-websocket-protocol', // browsers put keys here: 'openai-insecure-api-key.sk-…'
  'x-amzn-oidc-data', // https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-authenticate-users.html
  'x-honeycomb-team', // https://docs.honeycomb.io/api/
  'x-ms-client-principal', // https://learn.microsoft.com/azure/app-service/configure-authentication-user-identities
]);
/** Credentials as parameters only: as headers these names mean something else, or nothing. */
const PARAMETERS = new Set([
  'code',
  'code-verifier',
  'device-code',
  'jsessionid',
  'phpsessid',
  'ticket',
  'x-amz-credential',
]);

/** Anywhere in a name. */
const CREDENTIAL =
  /token|secret|passw|passphrase|passcode|credential|authorization|signature|cookie|bearer|jwt|(?:access|account|api|auth|client|encryption|functions|license|master|private|service|session|shared|signing|storage|subscription|virtual|webhook)-?key/;
/** As the last word of a name; a number may follow. */
const LAST =
  /(?:^|-)(?:assertion|auth|authentication|dpop|hmac|jws|keys?|csrf|otp|pass|pin|pwd?|saml-?response|sas|sig|vk|xsrf)(?:-?\d{1,3})?$/;

/** Words about keys and tokens that name no credential: a name is judged without them. */
const COUNTER = /^(?:anthropic|x)-rate-?limit-[a-z-]*|(?<!(?:access|api|auth|bearer|refresh|security|session)-?)tokens/;
const ABOUT =
  /-(?:alg|algorithm|budget|count|endpoint|expires|expiration|expires-(?:at|in)|expiry|limit|method|realm|status|ttl|type|ur[il]|usage)$/;
const OTHER_KEY =
  /(?:^|-)(?:cache|dedup|deduplication|foreign|idempotency|partition|primary|public|routing|sort|surrogate|web-?socket)-?keys?$/;
/** Cursors of a list. */
const PAGE_TOKEN = /(?:^|-)(?:continuation|cursor|next|next-?page|page|previous|prev|sync)-?token$/;

/** Words that may name a credential: the value is one when it looks random. */
const POSSIBLE = /(?:^|-)(?:assertion|auth|grant|identity|keys?|license|oidc|principal|sso|ticket|vk)(?:-|$)/;

/** `certain`: whatever the value. `possible`: when the value looks like one. */
export type CredentialLikelihood = 'certain' | 'possible' | 'none';

/** @param sent the header's name, in any case */
export function headerLikelihood(sent: string): CredentialLikelihood {
  const name = wordsOf(sent.toLowerCase());
  if (name.startsWith('x-svc-')) return namesCredential(name) ? 'certain' : 'none'; // our own envelope holds subjects and ids
  if (eitherWay(sent, (words) => HEADERS.has(words) || namesCredential(words))) return 'certain';
  return POSSIBLE.test(name) && !name.endsWith('-id') ? 'possible' : 'none';
}

/** @param sent the name of a parameter in a query or fragment, decoded */
export const isCredentialParameter = (sent: string): boolean =>
  eitherWay(sent, (name) => PARAMETERS.has(name) || namesCredential(name));

/**
 * As `isCredentialParameter`, without the short names that mean many things outside of a query: what is assigned to one somewhere in a
 * text, as in `api_key=…` or `"password": "…"`.
 */
export const isCredentialMember = (sent: string): boolean => eitherWay(sent, isMember);

function isMember(name: string): boolean {
  if (name.includes('-')) return HEADERS.has(name) || namesCredential(name);
  return MEMBERS.test(name) || (CREDENTIAL.test(name) && namesCredential(name));
}
const MEMBERS = /^(?:auth|dpop|pass|pwd)$/;

function namesCredential(name: string): boolean {
  if (!CREDENTIAL.test(name) && !LAST.test(name)) return false; // the common case
  if (ABOUT.test(name)) return false;
  const judged = name.replace(COUNTER, '').replace(OTHER_KEY, '').replace(PAGE_TOKEN, '');
  return CREDENTIAL.test(judged) || LAST.test(judged);
}

/** `apiKey` is two words, `WebSocket` and `DPoP` are one: a name is judged in both readings. */
function eitherWay(sent: string, judge: (name: string) => boolean): boolean {
  const plain = wordsOf(sent.toLowerCase());
  if (judge(plain)) return true;
  const split = wordsOf(sent.replace(/([a-z\d])([A-Z])/g, '$1-$2').toLowerCase());
  return split !== plain && judge(split);
}

/** `x-api_key` and `user[api key]` in one spelling: words with a hyphen between them. */
const wordsOf = (lower: string): string => lower.replace(/[^a-z\d]+/g, '-').replace(/^-|-$/g, '');
