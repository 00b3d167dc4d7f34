/** An ingested turn: a body of the ingest API as the exchange that its sender captured. */

import type { Exchange } from '../../call/exchange.ts';
import { boundedId, identityOf } from '../../call/identity.ts';
import { clientKey } from '../../capture/client-key.ts';
import { membersOf, type ValueRange } from '../../capture/json-members.ts';
import { type RedactedHeaders, redactHeaders } from '../../capture/redact.ts';
import { storable } from '../../derive/storable.ts';
import type { Identity } from '../../model/identity.ts';
import type { FormatId } from '../../provider/formats.ts';
import { type Fields, fields, isFields, parseForeign, text } from '../../provider/json.ts';
import { ProviderId } from '../../provider/provider-ids.ts';
import { isEmptyReply, REDUCED_TYPE } from '../../provider/reduced-reply.ts';
import { bodyText } from '../../provider/sse.ts';
import { redactJson } from '../../redaction/json.ts';
import { redactText } from '../../redaction/text.ts';
import { faultOf, id, isTooDeep, label, labelsOf, tooDeepMetadata } from './envelope.ts';
import { IngestTurn } from './ingest-turn.ts';
import { ingestedFormat, ingestedUrl, redactedPath } from './ingested-format.ts';
import { timesOf } from './times.ts';

/**
 * `malformed`: the body holds no turn; `error` says why. `unusable`: why the turn cannot be read, as far as that shows without reading
 * the request and the answer; it is stored all the same. Neither text quotes a value.
 */
export type Ingested =
  | { kind: 'malformed'; error: string }
  | {
      kind: 'turn';
      exchange: Exchange & { request_headers: RedactedHeaders; response_headers: RedactedHeaders | null };
      /** @param skeleton the parsed request with its cut arrays empty; null when it cannot be read */
      identityOf: (skeleton: Record<string, unknown> | null) => Identity;
      unusable: string | null;
    };

/** `subject`: the sender as a trusted gateway names it; null without one. */
export type IngestContext = {
  identityKey: Uint8Array;
  newId: () => string;
  now: () => string;
  subject: string | null;
};

/** A deeper `meta` would overflow the stack of the code that hashes and stores it later. */
const DEEPEST_META = 64;

/** The content of the request and the answer is not read here, so it may be anything: both are bytes of the body. */
export function ingestExchange(body: Uint8Array, context: IngestContext): Ingested {
  const document = documentIn(body);
  const members = isFields(document) ? membersOf(body) : null;
  if (document === undefined) return malformed('it is no JSON');
  if (!isFields(document) || !members) return malformed('it is no JSON object');
  const { error, data: turn } = IngestTurn.safeParse(document);
  if (error) return malformed(faultOf(error));
  if (isTooDeep(body, members.get('meta'), DEEPEST_META)) return malformed('meta is nested too deep');
  if (tooDeepMetadata(body, members.get('session'))) return malformed('session.harness_metadata is nested too deep');

  const meta = fields(document.meta); // as it was sent: a schema drops a key named __proto__
  const provider = ProviderId.safeParse(turn.provider).data ?? null;
  const agent_name = label(turn.agent_name);
  const session = fields(document.session);
  const auth_subject = boundedId(id(context.subject) || id(session.auth_subject));
  const envelope = { ...labelsOf(session), agent_name: redactText(agent_name), project: '', auth_subject };
  const method = /^[\w!#$%&'*+.^`|~-]{1,32}$/.test(text(meta.method)) ? text(meta.method) : 'POST';
  const format = provider && ingestedFormat(provider, method, meta.path, fields(document.request));
  const request = bytesOf(body, members.get('request'));
  const answer = answerOf(body, members.get('response'), document, meta);
  return {
    kind: 'turn',
    exchange: {
      svc_proxy_request_id: null,
      request_id: boundedId(storable(text(meta.request_id))) || context.newId(),
      client_key: clientKey(context.identityKey, {
        credential: `ingest:${auth_subject}`,
        userAgent: agent_name,
        project: '',
      }),
      provider: provider ?? (redactText(printable(turn.provider)).slice(0, 64) || 'unknown'),
      format,
      method,
      url: ingestedUrl(meta.path, format),
      status: answer.status,
      ending: 'complete',
      ...timesOf(meta, context.now),
      first_byte_at: null,
      request,
      request_bytes: request.byteLength,
      request_headers: redactHeaders([]),
      response: answer.bytes,
      response_bytes: answer.bytes.byteLength,
      response_headers: answer.headers,
      keep: 'full',
      whole: true,
      meta: storedMeta(meta, turn.raw_response_withheld === true),
    },
    identityOf: (skeleton) =>
      identityOf({ headers: [], project: '', envelope, thread_id: id(meta.thread_id) }, skeleton),
    unusable: unusable(provider, format, document, answer.bytes),
  };
}

const malformed = (reason: string): Ingested => ({ kind: 'malformed', error: `Cannot read the turn: ${reason}` });

function unusable(
  provider: ProviderId | null,
  format: FormatId | null,
  { request }: Fields,
  answer: Uint8Array,
): string | null {
  if (provider === null || format === null) return 'Cannot read the turn: its provider is unknown';
  if (!isFields(request)) return 'Cannot read the turn: its request is no JSON object';
  return answer.byteLength > 0 ? null : 'Cannot read the turn: neither raw_response nor response gives an answer';
}

/** undefined: it is no JSON. */
function documentIn(body: Uint8Array): unknown {
  try {
    return parseForeign(bodyText(body));
  } catch {
    return undefined; // the parser's own message quotes the text
  }
}

/** A copy: a view would keep the whole body in memory for as long as the request is cached. */
const bytesOf = (body: Uint8Array, { start, end }: ValueRange = { start: 0, end: 0 }): Uint8Array =>
  new Uint8Array(body.subarray(start, end));

type Answer = { bytes: Uint8Array; headers: RedactedHeaders | null; status: number | null };

/** The provider's bytes where they were sent, else the reply as the sender read it. A status alone is an answer without a body. */
function answerOf(body: Uint8Array, response: ValueRange | undefined, document: Fields, meta: Fields): Answer {
  const upstreamStatus = meta.upstream_status;
  const status =
    typeof upstreamStatus === 'number' &&
    Number.isInteger(upstreamStatus) &&
    upstreamStatus >= 100 &&
    upstreamStatus <= 599
      ? upstreamStatus
      : null;
  const raw = Buffer.from(text(document.raw_response), 'base64');
  if (raw.byteLength > 0) {
    const coding = headerValue(document.raw_response_encoding) || headerValue(meta.content_encoding);
    const headers = redactHeaders([
      ...rawHeader('content-type', meta.content_type),
      ...rawHeader('content-encoding', coding),
    ]);
    return { bytes: raw, headers, status: status ?? 200 };
  }
  if (!isEmptyReply(document.response)) {
    return {
      bytes: bytesOf(body, response),
      headers: redactHeaders(['content-type', REDUCED_TYPE]),
      status: status ?? 200,
    };
  }
  return { bytes: new Uint8Array(), headers: status === null ? null : redactHeaders([]), status };
}

/** As in Node's `rawHeaders`; empty where a header cannot carry the value. */
const rawHeader = (name: string, input: unknown): string[] => {
  const value = headerValue(input);
  return value === '' ? [] : [name, value];
};

/** The value if a header can carry it, else ''. */
const headerValue = (input: unknown): string => {
  const value = text(input).trim();
  return /^[\x20-\x7e]{1,256}$/.test(value) ? value : '';
};

const printable = (input: string): string => input.replace(/[^\x20-\x7e]/g, '').trim();

/** `meta` as it was sent, without the credentials in it. */
const storedMeta = (meta: Fields, withheld: boolean): Fields => ({
  ...fields(redactJson(meta)),
  ...(typeof meta.path === 'string' && { path: redactedPath(meta.path) }),
  ...(withheld && { raw_response_withheld: true }),
});
