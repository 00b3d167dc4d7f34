/** The transcripts of Gemini CLI: a file for each session of a project, with those of its sub-agents in a folder of its name. */
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isObject, parseJson } from '../../../parse-json.ts';
import { RUN_MEMBER } from '../../start/envelope.ts';
import { fileLines, firstRecords } from '../read-lines.ts';
import type { FoundTranscript, Line, Places, TranscriptHead, TranscriptSource } from '../transcript-source.ts';
import { filesBelow } from '../walk-folder.ts';

const TRANSCRIPT = /^[^/]+\/chats\/(?:[^/]+\/)?[^/]+\.jsonl?$/;
/** `session-<time>-<start of its id>`: once it is updated, Gemini CLI goes on in a `.jsonl` beside the `.json` of the older version. */
const SESSION_NAME = /session-[\w-]+/;
/** Older versions write one document, which has to be held. */
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;

export const geminiFiles: TranscriptSource = {
  harness: 'gemini-cli',
  name: 'Gemini CLI',
  folders: projectFolders,
  // with svc start its calls say whose they are, and still name no session
  isUnnamed: ({ harness_id, harness_metadata }) =>
    harness_id !== 'gemini-cli' || harness_metadata?.[RUN_MEMBER] !== undefined,
  async *find(places) {
    for (const folder of projectFolders(places)) yield* filesBelow(folder, (path) => TRANSCRIPT.test(path), 3);
  },
  sharedName: (path) => SESSION_NAME.exec(basename(path))?.[0] ?? basename(path),
  head,
  lines: (found) => (isDocument(found) ? documentLines(found) : fileLines(found)),
};

/** The variable names the folder that stands for the home. */
function projectFolders({ env, home }: Places): string[] {
  return [join(env.GEMINI_CLI_HOME || home, '.gemini', 'tmp')];
}

const isDocument = ({ path }: FoundTranscript) => path.endsWith('.json');

async function head(found: FoundTranscript): Promise<TranscriptHead | null> {
  const [first] = isDocument(found) ? [await documentOf(found)] : await firstRecords(found, 1);
  const id = first?.sessionId;
  if (typeof id !== 'string' || id === '') return null;
  const folder = basename(dirname(found.path));
  const parent = folder === 'chats' ? null : folder;
  const session = { harness_id: 'gemini-cli', harness_session_id: parent ?? id };
  return parent === null ? { session } : { session, agent_id: id };
}

async function documentOf({ path, bytes }: FoundTranscript): Promise<Record<string, unknown> | null> {
  if (bytes > MAX_DOCUMENT_BYTES) throw Object.assign(new Error('too large'), { code: 'EFBIG' });
  try {
    const document = parseJson(await readFile(path, 'utf8'));
    return isObject(document) ? document : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The session, then each message, as newer versions write them. */
async function* documentLines(found: FoundTranscript): AsyncGenerator<Line[]> {
  const { messages, ...session } = (await documentOf(found)) ?? {};
  const records = [session, ...(Array.isArray(messages) ? (messages as unknown[]) : [])];
  yield records.map((record) => Buffer.from(JSON.stringify(record)));
}
