/** The transcripts of Claude Code: a file for each session of a project, and one for each of its sub-agents. */
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { isObject, parseJson } from '../../../parse-json.ts';
import { fileLines, firstRecords } from '../read-lines.ts';
import type { FoundTranscript, Places, TranscriptHead, TranscriptSource } from '../transcript-source.ts';
import { filesBelow } from '../walk-folder.ts';

const AGENT_FILE = /^agent-(.+)\.jsonl$/;
/** Older versions put an agent's file beside that of its session, newer ones into a folder of the session's. */
const TRANSCRIPT = /^[^/]+\/(?:[^/]+\.jsonl|[^/]+\/(?:[^/]+\/)*agent-[^/]+\.jsonl)$/;
/** Records of an agent's file that are read for the session that it names. */
const FIRST_RECORDS = 50;

export const claudeFiles: TranscriptSource = {
  harness: 'claude',
  name: 'Claude Code',
  folders: projectFolders,
  async *find(places) {
    for (const folder of projectFolders(places)) yield* filesBelow(folder, (path) => TRANSCRIPT.test(path));
  },
  head,
  lines: fileLines,
};

/** Some set the variable to several folders, with commas between, for the sake of other readers of these files. */
function projectFolders({ env, home }: Places): string[] {
  const set = (env.CLAUDE_CONFIG_DIR ?? '').split(',').filter((folder) => folder.trim() !== '');
  const bases = set.length > 0 ? set : [join(home, '.claude'), join(home, '.config', 'claude')];
  return bases.map((base) => join(base.trim(), 'projects'));
}

async function head(found: FoundTranscript): Promise<TranscriptHead | null> {
  const [, agent_id] = AGENT_FILE.exec(basename(found.path)) ?? [];
  if (agent_id === undefined) return headOf(basename(found.path, '.jsonl'));
  const session = sessionFolder(found.path) ?? (await namedSession(found));
  return session === null ? null : { ...headOf(session), agent_id, ...(await spawnOf(found.path)) };
}

const headOf = (session: string): TranscriptHead => ({
  session: { harness_id: 'claude', harness_session_id: session },
});

/** `<session>/subagents/agent-….jsonl`; null: the file lies beside those of the sessions. */
function sessionFolder(path: string): string | null {
  const folders = dirname(path).split(sep);
  const at = folders.lastIndexOf('subagents');
  return at > 0 ? (folders[at - 1] ?? null) : null;
}

async function namedSession(found: FoundTranscript): Promise<string | null> {
  const records = await firstRecords(found, FIRST_RECORDS);
  const named = records.map(({ sessionId }) => sessionId).find((id) => typeof id === 'string' && id !== '');
  return typeof named === 'string' ? named : null;
}

/** What the file beside the agent's says of how it was started; nothing where it is missing, or was cut when the harness was killed. */
async function spawnOf(path: string): Promise<Partial<TranscriptHead>> {
  const meta = await readFile(path.replace(/\.jsonl$/, '.meta.json'), 'utf8')
    .then(parseJson)
    .catch(() => null);
  if (!isObject(meta)) return {};
  const { agentType, description, toolUseId } = meta;
  return {
    ...(typeof agentType === 'string' && { agent_type: agentType }),
    ...(typeof description === 'string' && { description }),
    ...(typeof toolUseId === 'string' && { tool_use_id: toolUseId }),
  };
}
