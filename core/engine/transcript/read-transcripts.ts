/** The transcripts of a session: their files, put together out of parts and read record by record. */
import type { Database } from '../../db/database.ts';
import type { TranscriptVersion } from '../../db/derive/transcript-versions.ts';
import type { TranscriptFile } from '../../model/transcript.ts';
import { recordsIn, uploadBody } from './transcript-records.ts';

/** `load` reads the bytes, so that a walk back through the versions reads only those that it reaches. */
export type TranscriptCandidate = Omit<TranscriptFile, 'records'> & { load(): Promise<TranscriptFile> };

/**
 * The whole versions of one file, the newest first: of the main thread, or of an agent and a lifecycle. Of a spawn (`lifecycle` '')
 * the newest need not be the one that counts: a file's content may show that it is no evidence of one.
 */
export type TranscriptCandidates = {
  main: boolean;
  agent_id: string;
  lifecycle: string;
  candidates: TranscriptCandidate[]; // at least one
};

/** The records in turns of the log that hold a file or a part of one, by `raw_turn_id`; `bytes` as they were sent. */
export type ReadParts = Map<number, { records: readonly unknown[]; bytes: number }>;

/** `known` need not be read again; `read` gets all that were used. */
export type KeptParts = { known: Readonly<ReadParts>; read: ReadParts };

/**
 * The files that there are, without reading any of them. The main file comes first, then the agents by id.
 * @param parts where they are to be kept
 */
export async function transcriptCandidates(
  { execute }: Pick<Database, 'execute'>,
  session_id: string,
  parts?: KeptParts,
): Promise<TranscriptCandidates[]> {
  const identities = await execute('transcriptVersions', { session_id });
  return identities.map(({ versions, ...identity }) => ({
    ...identity,
    candidates: versions.map((version) => {
      const head = headOf(version);
      return { ...head, load: async () => ({ ...head, records: await recordsOf(execute, version, parts) }) };
    }),
  }));
}

const headOf = ({ summary, harness_id, harness_session_id, newest_id, received_at }: TranscriptVersion) => ({
  harness_id,
  harness_session_id,
  main: summary.main,
  agent_id: summary.agent_id,
  agent_type: summary.agent_type,
  description: summary.description,
  tool_use_id: summary.tool_use_id,
  lifecycle_kind: summary.kind,
  raw_turn_id: newest_id,
  received_at,
});

/** @throws {Error} when a part of it is gone: a purge has happened meanwhile, and the caller has to start anew */
async function recordsOf(
  execute: Database['execute'],
  { raw_turn_ids }: TranscriptVersion,
  parts?: KeptParts,
): Promise<unknown[]> {
  const records: unknown[] = [];
  for (const raw_turn_id of raw_turn_ids) {
    const known = parts?.known.get(raw_turn_id) ?? parts?.read.get(raw_turn_id);
    const part = known ?? (await readPart(execute, raw_turn_id));
    parts?.read.set(raw_turn_id, part);
    for (const record of part.records) records.push(record);
  }
  return records;
}

async function readPart(execute: Database['execute'], raw_turn_id: number) {
  const stored = await execute('rawTurnBytes', { raw_turn_id });
  if (!stored) throw new Error(`Cannot read transcript ${raw_turn_id}: it is gone`);
  const { request } = stored;
  const body = uploadBody(request);
  return { records: body ? [...recordsIn(request, body)] : [], bytes: request.byteLength };
}
