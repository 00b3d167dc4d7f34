/** Stores uploaded transcripts: each is read, cut between its records and committed before its sender gets the verdict. */
import { isUtf8 } from 'node:buffer';
import { sessionId } from '../../call/identity.ts';
import type { TurnRecord } from '../../call/prepared-turn.ts';
import { instantNow } from '../../capture/clock.ts';
import { headerTemplate } from '../../capture/header-template.ts';
import { makeRecipe } from '../../capture/recipe.ts';
import { sliceId } from '../../capture/slice-codec.ts';
import { sliceTranscript } from '../../capture/transcript-slices.ts';
import type { Database } from '../../db/database.ts';
import { DatabaseError } from '../../errors.ts';
import { headersDigest } from '../../merkle/turn-chain.ts';
import type { TranscriptVerdict } from '../../model/transcript-upload.ts';
import { openTranscriptQueue, type ReadyTranscript } from './transcript-queue.ts';
import { type ReadUpload, readUpload } from './transcript-upload.ts';

export type TranscriptWriter = {
  /** @param subject the sender, where a gateway is trusted to name it. @throws {DatabaseError} the database refuses it: a bug here */
  append(body: Uint8Array, subject: string | null): Promise<TranscriptVerdict>;
  /** Resolves when no transcript is in flight. */
  idle(): Promise<void>;
};

type Deps = {
  database: Database;
  now?: () => string;
  committed?: () => void; // a session waits to be derived
};

type Upload = Extract<ReadUpload, { kind: 'upload' }>;

const DATA_EXCEPTION = '22'; // the class of SQLSTATEs

export function openTranscripts({ database, now = instantNow, committed }: Deps): TranscriptWriter {
  const queue = openTranscriptQueue(database);
  const inFlight = new Set<Promise<unknown>>();

  const appended = async (body: Uint8Array, subject: string | null): Promise<TranscriptVerdict> => {
    const read = readUpload(body, { now, subject });
    if (read.kind === 'malformed') return read;
    try {
      if (!(await isConnected(database, read))) return unconnected;
      const stored = await queue.write(toStore(body, read));
      if (!stored) return purged;
      committed?.();
      return { kind: 'accepted', ...stored, summary: read.summary };
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (error.transient)
        return { kind: 'unavailable', error: 'Cannot keep the transcript: the database is not available' };
      if (!error.sqlstate.startsWith(DATA_EXCEPTION)) throw error;
      return {
        kind: 'unstorable',
        error: 'Cannot keep the transcript: the database cannot hold what it says of itself',
      };
    }
  };

  return {
    append: (body, subject) => {
      const verdict = appended(body, subject);
      inFlight.add(verdict);
      return verdict.finally(() => inFlight.delete(verdict));
    },
    idle: async () => {
      while (inFlight.size > 0) await Promise.allSettled(inFlight);
    },
  };
}

/** Whether nothing is missing before a part with which a version ends. The others may come in any order, so that several are under way. */
const isConnected = async ({ execute }: Database, { identity, summary }: Upload): Promise<boolean> => {
  const { part } = summary;
  if (!part || !('is_last' in part) || !part.is_last) return true;
  const session_id = sessionId(identity.harness_id, identity.harness_session_id);
  return execute('hasPrefix', { session_id, summary });
};

const purged: TranscriptVerdict = {
  kind: 'purged',
  error: 'Cannot keep the transcript: its session was purged',
};

const unconnected: TranscriptVerdict = {
  kind: 'incomplete',
  error: 'Cannot keep the transcript: records before these are not stored; send the file from its beginning',
};

function toStore(
  body: Uint8Array,
  { request_id, identity, summary, requested_at, last_byte_at }: Upload,
): ReadyTranscript {
  const pieces = sliceTranscript(body).map(({ section, start, end }) => {
    const bytes = body.subarray(start, end);
    return { section, slice_id: sliceId(bytes), bytes };
  });
  const { pages, roots, depth } = makeRecipe(pieces);
  const { slice_id: template, bytes, values } = headerTemplate([]);
  const turn: TurnRecord = {
    svc_proxy_request_id: null,
    request_id,
    call_id: request_id,
    client_key: '',
    identity,
    requested_at,
    outcome: 'captured',
    ending: 'complete',
    provider: '',
    format: 'transcript',
    method: 'POST',
    url: '/v1/ingest/transcript',
    status: null,
    first_byte_at: null,
    last_byte_at,
    request_headers: { template, values, digest: headersDigest([]) ?? '' },
    response_headers: null,
    request: { roots, depth, bytes: body.byteLength, digest: sliceId(body), is_utf8: isUtf8(body) },
    response: { slice: null, bytes: 0, digest: null },
    meta: { transcript: summary },
  };
  return { turn, slices: [...pieces, ...pages, { slice_id: template, bytes }] };
}
