/** Transcripts as clients upload them: made by a test, or the files that real harnesses left on disk, whole or in parts. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../core/db/database.ts';
import { openTranscripts, type TranscriptWriter } from '../../core/engine/transcript/transcript-writer.ts';
import type { AcceptedTranscript, TranscriptPart, TranscriptVerdict } from '../../core/model/transcript-upload.ts';
import { fixtureFolder } from './fixtures.ts';

export const SESSION = { harness_id: 'claude', harness_session_id: '5d0f8f2e-1f4a-4a35-9d3e-0f6a0c1b2d3e' };

/** What a test specifies of a file; the default is a main file of SESSION. */
export type UploadedMessage = {
  session?: object;
  agent_id?: unknown;
  agent_type?: unknown;
  description?: unknown;
  tool_use_id?: unknown;
  kind?: unknown;
  records?: unknown;
  part?: unknown;
};

export const uploadBody = ({ records = [], ...rest }: UploadedMessage = {}): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(JSON.stringify({ session: SESSION, ...rest, records })));

/** The n-th record of a file; its number is also its second. */
export const record = (n: number, type = 'user'): object => ({
  type,
  uuid: `record-${n}`,
  timestamp: new Date(Date.UTC(2026, 6, 27, 9, 0, n)).toISOString(),
  message: { role: 'user', content: `What of ${n}?` },
});

export const records = (count: number, from = 0): object[] => Array.from({ length: count }, (_, n) => record(from + n));

/** The file in parts of that many records, as a client sends it that cannot send it whole. */
export function inParts({ records: all = [], ...rest }: UploadedMessage, size: number): UploadedMessage[] {
  const lines = all as unknown[];
  const file_sha256 = createHash('sha256').update(JSON.stringify(lines)).digest('hex');
  const count = Math.ceil(lines.length / size);
  return Array.from({ length: count }, (_, index): UploadedMessage => {
    const part: TranscriptPart = { index, count, file_sha256, from_line: index * size };
    return { ...rest, records: lines.slice(index * size, (index + 1) * size), part };
  });
}

/** The file in parts of that many records, each of which goes on from the one before it, as a client sends one that grows. */
export function inChain({ records: all = [], ...rest }: UploadedMessage, size: number): UploadedMessage[] {
  const lines = all as unknown[];
  const hash = createHash('sha256');
  const parts: UploadedMessage[] = [];
  let prefix_sha256: string | null = null;
  for (let from_line = 0; from_line < lines.length; from_line += size) {
    const own = lines.slice(from_line, from_line + size);
    for (const line of own) hash.update(`${JSON.stringify(line)}\n`);
    const through_sha256 = hash.copy().digest('hex');
    const part: TranscriptPart = {
      from_line,
      prefix_sha256,
      through_sha256,
      is_last: from_line + size >= lines.length,
    };
    parts.push({ ...rest, records: own, part });
    prefix_sha256 = through_sha256;
  }
  return parts;
}

/** The uploads of one session with a sub-agent out of `fixtures/transcripts`: the main file first. None where the fixtures are absent. */
export function harnessFiles(harness: 'claude' | 'codex'): UploadedMessage[] {
  const folder = fixtureFolder('transcripts');
  if (folder === null) return [];
  const lines = (file: string): unknown[] =>
    readFileSync(join(folder, harness, file), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
  if (harness === 'claude') {
    const harness_session_id = '13607ae7-2247-4428-8c8f-a10fe2fd0148';
    const session = { harness_id: 'claude', harness_session_id };
    const agent_id = 'a9b2a396fff8564e8';
    const agent = `${harness_session_id}/subagents/agent-${agent_id}`;
    const meta = JSON.parse(readFileSync(join(folder, harness, `${agent}.meta.json`), 'utf8')) as Record<
      string,
      string
    >;
    const { agentType: agent_type, description, toolUseId: tool_use_id } = meta;
    return [
      { session, records: lines(`${harness_session_id}.jsonl`) },
      { session, agent_id, agent_type, description, tool_use_id, records: lines(`${agent}.jsonl`) },
    ];
  }
  const [parent, child] = ['01a1fc52-a152-7cf1-9170-9c2fd0515173', '01a1fc52-a1cc-7c03-b98d-f384124bcdc0'];
  const session = { harness_id: 'codex', harness_session_id: parent };
  const rollout = (id: string) => lines(`rollout-2026-11-21T04-17-16-${id}.jsonl`);
  return [
    { session, records: rollout(parent) },
    { session, agent_id: child, records: rollout(child) },
  ];
}

/** Processes uploads as the engine does, without its thread. */
export const testTranscripts = (database: Database, now?: () => string): TranscriptWriter =>
  openTranscripts({ database, ...(now && { now }) });

/** Uploads one after the other. @throws {Error} when one is not stored */
export async function upload(writer: TranscriptWriter, ...uploads: UploadedMessage[]): Promise<AcceptedTranscript[]> {
  const out: AcceptedTranscript[] = [];
  for (const one of uploads) out.push(keptOf(await writer.append(uploadBody(one), null)));
  return out;
}

export function keptOf(verdict: TranscriptVerdict): AcceptedTranscript {
  if (verdict.kind !== 'accepted') throw new Error(`${verdict.kind}: ${verdict.error}`);
  return verdict;
}
