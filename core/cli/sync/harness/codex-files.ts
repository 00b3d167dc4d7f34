/** The transcripts of Codex: a rollout file for each thread, by the day on which it began, and those of archived sessions. */
import { basename, join } from 'node:path';
import { isObject } from '../../../parse-json.ts';
import { fileLines, firstRecords } from '../read-lines.ts';
import type { FoundTranscript, Places, TranscriptHead, TranscriptSource } from '../transcript-source.ts';
import { filesBelow } from '../walk-folder.ts';

const ROLLOUT = /^(?:[^/]+\/)*rollout-[^/]*\.jsonl$/;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

export const codexFiles: TranscriptSource = {
  harness: 'codex',
  name: 'Codex',
  folders: sessionFolders,
  async *find(places) {
    for (const folder of sessionFolders(places)) yield* filesBelow(folder, (path) => ROLLOUT.test(path));
  },
  sharedName: (path) => threadIn(path).toLowerCase() || basename(path),
  head,
  lines: fileLines,
};

function sessionFolders({ env, home }: Places): string[] {
  const base = env.CODEX_HOME || join(home, '.codex');
  return [join(base, 'sessions'), join(base, 'archived_sessions')];
}

/** `rollout-<time>-<thread>.jsonl`; '': the name has none. */
const threadIn = (path: string): string => UUID.exec(basename(path))?.[0] ?? '';

/** The first record names the thread, and the session whose sub-agent it is; the oldest files name the thread only in their name. */
async function head(found: FoundTranscript): Promise<TranscriptHead | null> {
  if (found.bytes === 0) return null;
  const [first = {}] = await firstRecords(found, 1);
  const meta = isObject(first.payload) ? first.payload : first;
  const thread = text(meta.id) || threadIn(found.path);
  const session = text(meta.session_id) || parentIn(meta) || thread;
  if (session === '') return null;
  const named = { session: { harness_id: 'codex', harness_session_id: session } };
  return thread === session || thread === '' ? named : { ...named, agent_id: thread };
}

function parentIn({ source }: Record<string, unknown>): string {
  const agent = isObject(source) && isObject(source.subagent) ? source.subagent : {};
  return isObject(agent.thread_spawn) ? text(agent.thread_spawn.parent_thread_id) : '';
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
