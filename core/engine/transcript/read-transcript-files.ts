/** Selects which of a session's transcript files count, and reads each with its own harness. */
import type { Database } from '../../db/database.ts';
import type { TranscriptUploads } from '../../db/derive/transcript-readings.ts';
import type { ThreadFile } from '../../derive/transcript/evidence.ts';
import type { CountedTranscript } from '../../derive/transcript/linked-calls.ts';
import type { TranscriptReading } from '../../harness/harness.ts';
import { harnessById, harnesses } from '../../harness/harnesses.ts';
import type { TranscriptFile } from '../../model/transcript.ts';
import type { TranscriptReport } from '../../model/transcript-report.ts';
import { type ReadParts, type TranscriptCandidates, transcriptCandidates } from './read-transcripts.ts';

export type ReadTranscripts = {
  sources: CountedTranscript[]; // the conversations
  threads: ThreadFile[]; // how threads were started; the main file first
  parts: ReadParts; // what all this was read from, where they are to be kept
  report: Omit<TranscriptReport, 'suppressed_by_wire'>;
};

/** @param known parts that need not be read again; absent: none are kept */
export async function readTranscripts(
  database: Pick<Database, 'execute'>,
  session_id: string,
  known?: Readonly<ReadParts>,
): Promise<ReadTranscripts> {
  const uploads = await database.execute('transcriptUploads', { session_id });
  const out: ReadTranscripts = {
    ...{ sources: [], threads: [], parts: new Map() },
    report: { ...noReport, omitted_types: {} },
  };
  const parts = known && { known, read: out.parts };
  for (const identity of await transcriptCandidates(database, session_id, parts)) {
    if (identity.lifecycle === 'interacted') out.report.interacted_rows++;
    if (identity.lifecycle !== '' && !identity.main) continue; // never evidence of a spawn
    const { spawn, conversation, inert } = await selectVersions(identity);
    out.report.interacted_rows += inert;
    for (const read of new Set([spawn, conversation])) if (read) add(out.report, read, identity);
    const thread_id = identity.main ? '' : identity.agent_id;
    if (spawn) out.threads.push(threadOf(spawn, thread_id));
    if (conversation && conversation !== spawn) out.threads.push(threadOf(conversation, thread_id));
    const upload = uploads.find(
      ({ main, agent_id }) => main === identity.main && (main || agent_id === identity.agent_id),
    );
    if (conversation && upload) out.sources.push(...sourcesOf(conversation, thread_id, upload));
    if (conversation) out.threads.push(...threadsBeside(conversation));
  }
  return out;
}

type Read = { file: Omit<TranscriptFile, 'records'>; records: number; reading: TranscriptReading };

/**
 * From the newest version back: `spawn` is the first that is evidence of how the thread was started, `conversation` the first that holds
 * a conversation; a later version that only notes the spawn does not hide it. `inert` counts those that are neither.
 */
async function selectVersions({
  main,
  candidates,
}: TranscriptCandidates): Promise<{ spawn: Read | null; conversation: Read | null; inert: number }> {
  let spawn: Read | null = null;
  let conversation: Read | null = null;
  let inert = 0;
  for (const candidate of candidates) {
    const { records, ...file } = await candidate.load();
    const read: Read = { file, records: records.length, reading: readingOf({ ...file, records }) };
    const { is_spawn_evidence, calls } = read.reading;
    if (main) return { spawn: read, conversation: read, inert };
    if (is_spawn_evidence) spawn ??= read;
    else inert++;
    if (is_spawn_evidence && calls.length > 0) conversation = read;
    if (spawn && conversation) break;
  }
  return { spawn, conversation, inert };
}

/** Read by the session's harness. If that is unknown, any may have written the file: the one that projects most records is taken. */
function readingOf(file: TranscriptFile): TranscriptReading {
  const own = harnessById(file.harness_id)?.readTranscript;
  if (own) return own(file);
  const readings = harnesses.flatMap(({ readTranscript }) => (readTranscript ? [readTranscript(file)] : []));
  const [best] = readings.sort((one, other) => other.projected_records - one.projected_records);
  if (!best) throw new Error('Cannot read a transcript: no harness can');
  return best;
}

const threadOf = ({ reading, file }: Read, thread_id: string): ThreadFile => ({
  ...{ reading, thread_id },
  ...{ agent_type: file.agent_type, description: file.description, tool_use_id: file.tool_use_id },
});

/** The active path comes first: what it shares with an abandoned branch counts there. */
const sourcesOf = ({ reading }: Read, thread_id: string, upload: TranscriptUploads): CountedTranscript[] => [
  sourceOf(reading, thread_id, upload),
  ...reading.beside.map(({ calls, ...beside }) =>
    sourceOf({ ...reading, calls }, beside.thread_id || thread_id, upload),
  ),
];

/** Sub-agents that have no file of their own. */
const threadsBeside = ({ reading, file }: Read): ThreadFile[] =>
  reading.beside
    .filter(({ thread_id }) => thread_id !== '')
    .map(({ thread_id, prompt }) => {
      const spawn = { tool_use_id: '', path: '', label: '', description: '', prompt };
      return {
        ...threadOf({ reading: { ...reading, spawn, spawned: [], title: null }, file, records: 0 }, thread_id),
        ...unnamed,
      };
    });
const unnamed = { agent_type: '', description: '', tool_use_id: '' };

const sourceOf = (
  reading: TranscriptReading,
  thread_id: string,
  { first_id, identity }: TranscriptUploads,
): CountedTranscript => ({
  reading,
  thread_id,
  raw_turn_id: first_id,
  identity: { ...identity, thread_id, harness_version: identity.harness_version || reading.harness_version },
});

const noReport: ReadTranscripts['report'] = {
  ...{ files: 0, records: 0, projected_records: 0, omitted_records: 0, omitted_types: {} },
  ...{ subagent_files: 0, interacted_rows: 0 },
};

function add(report: ReadTranscripts['report'], { records, reading }: Read, { main }: TranscriptCandidates): void {
  report.files++;
  report.subagent_files += main ? 0 : 1;
  report.records += records;
  report.projected_records += reading.projected_records;
  for (const [type, count] of Object.entries(reading.omitted)) {
    report.omitted_records += count;
    report.omitted_types[type] =
      (Object.hasOwn(report.omitted_types, type) ? (report.omitted_types[type] ?? 0) : 0) + count;
  }
}
