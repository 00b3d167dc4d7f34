/** What an uploaded transcript states of itself: whose file it is, when its records were made, and under which identity it is stored. */
import { createHash } from 'node:crypto';
import { boundedId, identityOf } from '../../call/identity.ts';
import { storable } from '../../derive/storable.ts';
import type { Identity } from '../../model/identity.ts';
import { instantIn, latestStated } from '../../model/rfc-3339.ts';
import { type TranscriptPart, type TranscriptSummary, TranscriptUpload } from '../../model/transcript-upload.ts';
import { type Fields, fields, isFields, text } from '../../provider/json.ts';
import { faultOf, id, label, labelsOf, tooDeepMetadata } from '../ingest/envelope.ts';
import { recordsIn, type UploadBody, uploadBody } from './transcript-records.ts';

/** `malformed`: the body holds no transcript; `error` says why and quotes no value. */
export type ReadUpload =
  | { kind: 'malformed'; error: string }
  | {
      kind: 'upload';
      request_id: string; // its identity
      identity: Identity;
      summary: TranscriptSummary;
      requested_at: string; // its earliest record
      last_byte_at: string; // its latest
    };

/** @param now when it came, for a file none of whose records has a time. @param subject the sender, as a trusted gateway names it */
export function readUpload(
  body: Uint8Array,
  { now, subject }: { now: () => string; subject: string | null },
): ReadUpload {
  const upload = uploadBody(body);
  if (!upload) return malformed('it is no JSON object');
  const { members, document } = upload;
  const { error, data } = TranscriptUpload.safeParse(document);
  if (error) return malformed(faultOf(error));
  const misplaced = data.part && misplacedPart(data.part);
  if (misplaced) return malformed(misplaced);
  if (tooDeepMetadata(body, members.get('session'))) return malformed('session.harness_metadata is nested too deep');

  const receivedAt = now();
  const times = recordTimes(body, upload, receivedAt);
  if (!times) return malformed('it is no JSON');
  const identity = identityIn(document, subject);
  const summary: TranscriptSummary = {
    main: identity.thread_id === '',
    agent_id: identity.thread_id,
    agent_type: label(data.agent_type),
    description: phrase(data.description),
    tool_use_id: phrase(data.tool_use_id).trim(),
    kind: boundedId(id(data.kind)),
    ...times,
    ...(data.part && { part: ordered(data.part) }),
  };
  const { start = 0, end = 0 } = members.get('records') ?? {};
  return {
    kind: 'upload',
    request_id: transcriptKey(identity, summary, body.subarray(start, end)),
    identity,
    summary,
    requested_at: summary.first_at ?? receivedAt,
    last_byte_at: summary.last_at ?? receivedAt,
  };
}

const malformed = (reason: string): ReadUpload => ({
  kind: 'malformed',
  error: `Cannot read the transcript: ${reason}`,
});

/** What contradicts itself in a part's place; null: nothing. */
function misplacedPart(part: TranscriptPart): string | null {
  if ('count' in part) return part.index < part.count ? null : 'part.index is not below part.count';
  const [isFirst, hasPrefix] = [part.from_line === 0, typeof part.prefix_sha256 === 'string'];
  if (isFirst) return hasPrefix ? 'part.prefix_sha256 is not of a first part' : null;
  return hasPrefix ? null : 'part.prefix_sha256 is missing';
}

/** A sub-agent's thread is named by its id, as over the wire. */
function identityIn(document: Fields, subject: string | null): Identity {
  const session = fields(document.session);
  const auth_subject = boundedId(id(subject) || id(session.auth_subject));
  const envelope = { ...labelsOf(session), agent_name: '', project: '', auth_subject };
  return identityOf({ headers: [], project: '', envelope, thread_id: id(document.agent_id) }, null);
}

const phrase = (input: unknown): string => storable(text(input).slice(0, MAX_PHRASE));
const MAX_PHRASE = 4096;

/** null: a record is no JSON. What is no time, or is out of range, is skipped. */
function recordTimes(
  body: Uint8Array,
  upload: UploadBody,
  now: string,
): Pick<TranscriptSummary, 'records' | 'first_at' | 'last_at'> | null {
  const latest = latestStated(now);
  let [records, first_at, last_at]: [number, string | null, string | null] = [0, null, null];
  try {
    for (const record of recordsIn(body, upload)) {
      records += 1;
      const at = isFields(record) ? instantIn(record.timestamp) : null;
      if (at === null || at > latest) continue;
      if (first_at === null || at < first_at) first_at = at;
      if (last_at === null || at > last_at) last_at = at;
    }
  } catch {
    return null; // the parser's own message quotes the text
  }
  return { records, first_at, last_at };
}

/**
 * The same for the same content of the same file, so that it is stored once. Whether it is the main file is stated apart from the id of
 * an agent; '' and `started` are one lifecycle. A part is another record than the whole file.
 */
function transcriptKey(
  { harness_id, harness_session_id }: Identity,
  { main, agent_id, kind, part }: TranscriptSummary,
  records: Uint8Array,
): string {
  const spawn_lifecycle = kind === '' || kind === 'started';
  return `transcript:v2:${sha256(
    JSON.stringify({
      version: 2,
      harness_id,
      harness_session_id,
      spawn_lifecycle,
      ...(!spawn_lifecycle && { lifecycle_kind: kind }),
      main,
      ...(!main && { agent_id }),
      records_hash: sha256(records),
      ...(part && { part }),
    }),
  )}`;
}

/** Its members in the order in which they are hashed. */
function ordered(part: TranscriptPart): TranscriptPart {
  const { from_line } = part;
  if ('count' in part) {
    const { index, count, file_sha256 } = part;
    return { index, count, file_sha256: file_sha256.toLowerCase(), from_line };
  }
  const { prefix_sha256, through_sha256, is_last } = part;
  const prefix = prefix_sha256 && { prefix_sha256: prefix_sha256.toLowerCase() };
  return { from_line, ...prefix, through_sha256: through_sha256.toLowerCase(), is_last };
}

const sha256 = (of: string | Uint8Array): string => createHash('sha256').update(of).digest('hex');
