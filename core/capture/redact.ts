/** What is never written? Credentials in headers and queries; everything beside them keeps its bytes. */
import type { HeaderList } from '../model/headers.ts';

export const REDACTED = '[redacted]';

const CREDENTIAL_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
  'set-cookie',
  'x-paper-auth',
  'sec-websocket-protocol', // browsers put keys here: 'openai-insecure-api-key.sk-…'
]);
const CREDENTIAL_NAME =
  /token|secret|passw(or)?d|credential|authorization|signature|cookie|jwt|(api|access|auth|client|functions|private|session|subscription)[-_]?key|^x-auth$/i;
/** How many tokens were or may be used, which opens no door: left out of a name before it is judged. */
const COUNTER = /^(anthropic|x)-rate-?limit-[a-z-]*|(?<!(access|api|auth|bearer|refresh|security|session)[-_]?)tokens/i;
/** Headers that carry an address, whose query or fragment may carry a key, and which may begin with a password. */
const ADDRESS_HEADERS = new Set([
  'location',
  'content-location',
  'referer',
  'refresh',
  'x-original-uri', // gateways' copies of the target
  'x-original-url',
  'x-rewrite-url',
  'x-forwarded-uri',
]);
/** A name and password before a host, at the beginning of an address: alone, or behind `url=` as in `Refresh`. */
const USER_INFO = /(^|[=\s'"])((?:[a-z][a-z0-9+.-]*:)?\/\/)[^/?#\s]*@/gi;

const CREDENTIAL_PARAMETERS = new Set(['key', 'sig', 'code', 'auth', 'pwd', 'x-amz-security-token']);

/**
 * The headers as they may be kept: names, order and repetition as on the wire, values of credentials replaced.
 * @param raw names and values in turn, as Node's `rawHeaders` has them
 */
export function redactHeaders(raw: readonly string[]): HeaderList {
  const kept: HeaderList = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    kept.push([name, redactedValue(name, raw[i + 1] as string)]);
  }
  return kept;
}

/** A path with its query as it may be kept: the values of parameters that are credentials are replaced. */
export function redactUrl(url: string): string {
  const query = url.indexOf('?');
  if (query < 0) return url;
  const parameters = url
    .slice(query + 1)
    .split('&')
    .map(redactedParameter);
  return `${url.slice(0, query + 1)}${parameters.join('&')}`;
}

function redactAddress(address: string): string {
  const [place = '', ...fragments] = address.replace(USER_INFO, `$1$2${REDACTED}@`).split('#');
  return [redactUrl(place), ...fragments.map((fragment) => redactUrl(`?${fragment}`).slice(1))].join('#');
}

function redactedValue(name: string, value: string): string {
  switch (fateOf(name)) {
    case 'kept':
      return value;
    case 'address':
      return redactAddress(value);
    case 'credential':
      return REDACTED;
  }
}

type Fate = 'kept' | 'address' | 'credential';

/** The same few names come with every call; what strangers make up does not stay. */
const fates = new Map<string, Fate>();
const MAX_FATES = 2000;

function fateOf(sent: string): Fate {
  const known = fates.get(sent);
  if (known) return known;
  const name = sent.toLowerCase();
  const credential = CREDENTIAL_HEADERS.has(name) || isCredentialName(name);
  const fate = ADDRESS_HEADERS.has(name) ? 'address' : credential ? 'credential' : 'kept';
  if (fates.size >= MAX_FATES) fates.clear();
  fates.set(sent, fate);
  return fate;
}

/** Two steps, since nearly every name passes the first. */
const isCredentialName = (name: string) =>
  CREDENTIAL_NAME.test(name) && CREDENTIAL_NAME.test(name.replace(COUNTER, ''));

/** `;` separates parameters for some servers and is part of the value for others: from the first credential on, all goes. */
function redactedParameter(parameter: string): string {
  for (let from = 0; from >= 0 && from < parameter.length; ) {
    const semicolon = parameter.indexOf(';', from);
    const equals = parameter.indexOf('=', from);
    if (equals < 0) return parameter;
    if ((semicolon < 0 || equals < semicolon) && isCredentialParameter(parameter.slice(from, equals))) {
      return `${parameter.slice(0, equals + 1)}${REDACTED}`;
    }
    from = semicolon < 0 ? -1 : semicolon + 1;
  }
  return parameter;
}

function isCredentialParameter(encoded: string): boolean {
  const name = decoded(encoded).trim().toLowerCase();
  return CREDENTIAL_PARAMETERS.has(name) || isCredentialName(name);
}

function decoded(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
