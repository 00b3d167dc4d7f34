/** The evidence of a session's transcripts: which tool call started each thread, its first words, the session's title. */
import { isDeepStrictEqual } from 'node:util';
import type { SpawnRecord, TranscriptReading } from '../../harness/harness.ts';
import { type Anchor, noEvidence, type TranscriptEvidence } from '../evidence.ts';
import { firstWords } from '../first-words.ts';
import { cutBytes } from '../prompt.ts';
import { shortText } from '../spawns.ts';
import { storable } from '../storable.ts';

/** A file that counts: of the main thread, or evidence of how an agent was started. The upload's fields take precedence over the file's. */
export type ThreadFile = {
  reading: TranscriptReading;
  thread_id: string; // '' of the main file
  agent_type: string;
  description: string;
  tool_use_id: string;
};

/** The main file comes first, then those of the agents, each thread's once. */
export function evidenceIn(files: readonly ThreadFile[]): TranscriptEvidence {
  const spawns = new Map<string, SpawnRecord>();
  const add = (thread_id: string, spawn: SpawnRecord) => {
    if (thread_id !== '') spawns.set(thread_id, filled(spawns.get(thread_id) ?? noSpawn, spawn));
  };
  for (const file of files) add(file.thread_id, ownSpawn(file));
  for (const { reading } of files) for (const { thread_id, ...spawn } of reading.spawned) add(thread_id, spawn);
  return {
    anchors: new Map([...spawns].map(([thread_id, spawn]) => [thread_id, anchorOf(thread_id, spawn)])),
    prompts: promptsIn(spawns),
    title: titleIn(files),
    ...surroundingsIn(files),
  };
}

const noSpawn: SpawnRecord = { tool_use_id: '', path: '', label: '', description: '', prompt: '' };

/** The earlier record takes precedence; the later one fills in what it lacks. */
const filled = (before: SpawnRecord, later: SpawnRecord): SpawnRecord => ({
  tool_use_id: before.tool_use_id || later.tool_use_id,
  path: before.path || later.path,
  label: before.label || later.label,
  description: before.description || later.description,
  prompt: before.prompt || later.prompt,
});

/** A harness's own name for the thread takes precedence over the upload's agent type. */
function ownSpawn({ reading, agent_type, description, tool_use_id }: ThreadFile): SpawnRecord {
  const own = reading.spawn ?? noSpawn;
  return { ...own, tool_use_id: tool_use_id || own.tool_use_id, label: own.label || agent_type, description };
}

const anchorOf = (thread_id: string, { tool_use_id, path, label, description }: SpawnRecord): Anchor => ({
  ...{ thread_id: storable(thread_id), tool_use_id: storable(tool_use_id), path: shortText(path) },
  label: shortText(label || (path.split('/').at(-1) ?? '')),
  description: shortText(description || path),
});

/** First words that more than one thread has identify none of them, and are left out. */
function promptsIn(spawns: ReadonlyMap<string, SpawnRecord>): Map<string, string> {
  const threads = new Map<string, string | null>();
  for (const [thread_id, { prompt }] of spawns) {
    const words = firstWords(prompt);
    if (words !== '') threads.set(words, threads.has(words) ? null : thread_id);
  }
  return new Map([...threads].filter((entry): entry is [string, string] => entry[1] !== null));
}

const TITLE_BYTES = 255;

/** The title of the main file; an agent's title is not the session's. */
function titleIn(files: readonly ThreadFile[]): string | null {
  const title = files.find(({ thread_id }) => thread_id === '')?.reading.title?.text ?? '';
  return cutBytes(storable(title), TITLE_BYTES) || null;
}

/** Where the main thread works, and under which version of its harness. */
function surroundingsIn(
  files: readonly ThreadFile[],
): Pick<TranscriptEvidence, 'cwd' | 'git_branch' | 'harness_version'> {
  const main = files.find(({ thread_id }) => thread_id === '')?.reading;
  const short = (words = '') => storable(words.slice(0, LONGEST_SURROUNDING)) || null;
  return { cwd: short(main?.cwd), git_branch: short(main?.git_branch), harness_version: short(main?.harness_version) };
}

const LONGEST_SURROUNDING = 4096;

/** The evidence as it is stored: plain JSON. */
export type EvidenceText = Omit<TranscriptEvidence, 'anchors' | 'prompts'> & {
  anchors: Anchor[];
  prompts: [words: string, thread_id: string][];
};

export const evidenceText = ({ anchors, prompts, ...session }: TranscriptEvidence): EvidenceText => ({
  ...session,
  anchors: [...anchors.values()],
  prompts: [...prompts],
});

export const evidenceFrom = ({ anchors, prompts, ...session }: EvidenceText): TranscriptEvidence => ({
  ...noEvidence, // older builds stored less
  ...session,
  anchors: new Map(anchors.map((anchor) => [anchor.thread_id, anchor])),
  prompts: new Map(prompts),
});

/** Whether two evidences differ in what a session is called or where it works. */
export const differsOnSession = (
  { anchors: _a, prompts: _p, ...one }: TranscriptEvidence,
  other: TranscriptEvidence,
): boolean => {
  const { anchors: _b, prompts: _q, ...before } = other;
  return !isDeepStrictEqual(one, before);
};

/** The threads whose anchors differ between two evidences. */
export const changedThreads = (one: TranscriptEvidence, other: TranscriptEvidence): string[] =>
  [...new Set([...one.anchors.keys(), ...other.anchors.keys()])].filter(
    (thread_id) => !isDeepStrictEqual(one.anchors.get(thread_id), other.anchors.get(thread_id)),
  );

/** The threads whose first words differ between two evidences. */
export const changedPrompts = (one: TranscriptEvidence, other: TranscriptEvidence): string[] =>
  [...new Set([...one.prompts.keys(), ...other.prompts.keys()])].flatMap((words) => {
    const [before, after] = [one.prompts.get(words), other.prompts.get(words)];
    return before === after ? [] : [before, after].filter((thread_id) => thread_id !== undefined);
  });
