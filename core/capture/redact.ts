/** Redaction of credentials in headers and addresses, which are never written; everything beside them keeps its bytes. */
import type { HeaderList } from '../model/headers.ts';
import { parseJson } from '../parse-json.ts';
import { redactJson } from '../redaction/json.ts';
import { type CredentialLikelihood, headerLikelihood } from '../redaction/names.ts';
import { looksRandom, REDACTED } from '../redaction/shapes.ts';
import { redactText } from '../redaction/text.ts';
import { redactUrl } from '../redaction/url.ts';

declare const redacted: unique symbol;
/** Headers without their credentials; only `redactHeaders` makes them. */
export type RedactedHeaders = HeaderList & { readonly [redacted]: true };

/** A record with headers that may be stored. */
export type Redacted<Head extends { headers: HeaderList }> = Head & { headers: RedactedHeaders };

const METADATA = 'x-svc-harness-metadata';

/** Redacts a JSON object in base64url; one that holds no credential keeps its bytes. */
function redactMetadata(value: string): string {
  try {
    const metadata: unknown = parseJson(Buffer.from(value, 'base64url').toString('utf8'));
    const redactedText = JSON.stringify(redactJson(metadata));
    return redactedText === JSON.stringify(metadata) ? value : Buffer.from(redactedText).toString('base64url');
  } catch {
    return redactText(value);
  }
}

/** @param name in lower case */
export const withoutHeader = (headers: RedactedHeaders, name: string): RedactedHeaders =>
  headers.filter(([sent]) => sent.length !== name.length || sent.toLowerCase() !== name) as RedactedHeaders;

/** Headers whose whole value is an address. In other headers an address ends at a blank, a quote or `>`. */
const TARGET = ':path';
const ADDRESS_HEADERS = new Set([
  TARGET, // the name that HTTP/2 has for it
  ...['location', 'content-location', 'referer', 'operation-location', 'azure-asyncoperation'],
  ...['x-original-uri', 'x-original-url', 'x-rewrite-url', 'x-forwarded-uri'], // gateways' copies of the target
]);

/**
 * The headers as they may be stored: names, order and repetition as on the wire, credentials replaced.
 * @param raw names and values in turn, as Node's `rawHeaders` has them
 */
export function redactHeaders(raw: readonly string[]): RedactedHeaders {
  const result: HeaderList = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    result.push([name, redactedHeader(name, raw[i + 1] as string)]);
  }
  return result as RedactedHeaders;
}

/** The path and query of a request as they may be stored. */
export const redactTarget = (target: string): string => redactedHeader(TARGET, target);

/** The cached rule for a header's name: the same few come with every call, most of them with one of the same few values. */
type NameRule = { likelihood: CredentialLikelihood; redact: (value: string) => string; clean: string[]; next: number };
const rules = new Map<string, NameRule>();
const MAX_NAMES = 2000; // a bound, since clients may make up names
const MAX_NAME_CHARACTERS = 128;
const MAX_CLEAN = 4; // the newest values of each name; none that holds a credential is ever cached
const MAX_CLEAN_CHARACTERS = 1024;
/** Longer ones that may be a credential are not searched but replaced as a whole. */
const MAX_HINTED_CHARACTERS = 8192;

/** Numbers, ids in hex, ids of requests, and instants, which change with every call. No key has such a shape. */
const PLAIN =
  /^(?:[\d.a-f-]*(?:-[A-Z]{3})?|req_[A-Za-z\d]*|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)$/;

/** @returns the value as it may be stored */
export function redactedHeader(name: string, value: string): string {
  const rule = rules.get(name) ?? addRule(name);
  if (rule.likelihood === 'certain') return REDACTED;
  for (let n = 0; n < rule.clean.length; n++) if (rule.clean[n] === value) return value;
  if (rule.likelihood === 'none' && PLAIN.test(value)) return value;
  const result = redactedValue(rule, value);
  if (result === value && value.length <= MAX_CLEAN_CHARACTERS) {
    rule.clean[rule.next] = value;
    rule.next = (rule.next + 1) % MAX_CLEAN;
  }
  return result;
}

function redactedValue({ likelihood, redact }: NameRule, value: string): string {
  if (likelihood === 'possible' && (value.length > MAX_HINTED_CHARACTERS || looksRandom(value))) return REDACTED;
  return redact(value);
}

function addRule(name: string): NameRule {
  if (rules.size >= MAX_NAMES) rules.clear();
  const lower = name.toLowerCase();
  const redact = ADDRESS_HEADERS.has(lower) ? redactUrl : lower === METADATA ? redactMetadata : redactText;
  const rule: NameRule = { likelihood: headerLikelihood(name), redact, clean: [], next: 0 };
  if (name.length <= MAX_NAME_CHARACTERS) rules.set(name, rule);
  return rule;
}
