/** What is never written? Credentials in headers and addresses; everything beside them keeps its bytes. */
import type { HeaderList } from '../model/headers.ts';
import { parseJson } from '../parse-json.ts';
import { redactJson } from '../redaction/json.ts';
import { type CredentialLikelihood, headerLikelihood } from '../redaction/names.ts';
import { looksRandom, REDACTED } from '../redaction/shapes.ts';
import { redactText } from '../redaction/text.ts';
import { redactUrl } from '../redaction/url.ts';

declare const redacted: unique symbol;
/** Headers from which the credentials are gone; only `redactHeaders` makes them. */
export type RedactedHeaders = HeaderList & { readonly [redacted]: true };

const METADATA = 'x-svc-harness-metadata';

/** A JSON object in base64url; what holds no credential keeps its bytes. */
function redactMetadata(value: string): string {
  try {
    const metadata: unknown = parseJson(Buffer.from(value, 'base64url').toString('utf8'));
    const left = JSON.stringify(redactJson(metadata));
    return left === JSON.stringify(metadata) ? value : Buffer.from(left).toString('base64url');
  } catch {
    return redactText(value);
  }
}

/** @param name in lower case */
export const withoutHeader = (headers: RedactedHeaders, name: string): RedactedHeaders =>
  headers.filter(([sent]) => sent.length !== name.length || sent.toLowerCase() !== name) as RedactedHeaders;

/** Headers whose whole value is an address. In others an address ends where a blank, a quote or `>` stands. */
const TARGET = ':path';
const ADDRESS_HEADERS = new Set([
  TARGET, // as HTTP/2 has it
  ...['location', 'content-location', 'referer', 'operation-location', 'azure-asyncoperation'],
  ...['x-original-uri', 'x-original-url', 'x-rewrite-url', 'x-forwarded-uri'], // gateways' copies of the target
]);

/**
 * The headers as they may be kept: names, order and repetition as on the wire, credentials replaced.
 * @param raw names and values in turn, as Node's `rawHeaders` has them
 */
export function redactHeaders(raw: readonly string[]): RedactedHeaders {
  const kept: HeaderList = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    kept.push([name, redactedHeader(name, raw[i + 1] as string)]);
  }
  return kept as RedactedHeaders;
}

/** The path and query of a request as they may be kept. */
export const redactTarget = (target: string): string => redactedHeader(TARGET, target);

/** What is known of a name: the same few come with every call, most of them with one of the same few values. */
type Known = { telling: CredentialLikelihood; redact: (value: string) => string; clean: string[]; next: number };
const known = new Map<string, Known>();
const MAX_NAMES = 2000; // what strangers make up does not stay
const MAX_NAME_CHARACTERS = 128;
const MAX_CLEAN = 4; // values of each name, the newest; none that holds a credential is ever remembered
const MAX_CLEAN_CHARACTERS = 1024;
/** Longer ones that may be a credential are not looked through but are taken for one. */
const MAX_HINTED_CHARACTERS = 8192;

/** Numbers, ids in hex, those of requests, and instants: what changes with every call. No key has such a shape. */
const PLAIN =
  /^(?:[\d.a-f-]*(?:-[A-Z]{3})?|req_[A-Za-z\d]*|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)$/;

/** @returns the value as it may be kept */
export function redactedHeader(name: string, value: string): string {
  const about = known.get(name) ?? remember(name);
  if (about.telling === 'certain') return REDACTED;
  for (let n = 0; n < about.clean.length; n++) if (about.clean[n] === value) return value;
  if (about.telling === 'none' && PLAIN.test(value)) return value;
  const kept = looked(about, value);
  if (kept === value && value.length <= MAX_CLEAN_CHARACTERS) {
    about.clean[about.next] = value;
    about.next = (about.next + 1) % MAX_CLEAN;
  }
  return kept;
}

function looked({ telling, redact }: Known, value: string): string {
  if (telling === 'possible' && (value.length > MAX_HINTED_CHARACTERS || looksRandom(value))) return REDACTED;
  return redact(value);
}

function remember(name: string): Known {
  if (known.size >= MAX_NAMES) known.clear();
  const lower = name.toLowerCase();
  const redact = ADDRESS_HEADERS.has(lower) ? redactUrl : lower === METADATA ? redactMetadata : redactText;
  const about: Known = { telling: headerLikelihood(name), redact, clean: [], next: 0 };
  if (name.length <= MAX_NAME_CHARACTERS) known.set(name, about);
  return about;
}
