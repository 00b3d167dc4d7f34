/** What do a session's transcripts tell of its threads? Which tool call each came from, its first words, the session's title. (Reference section 4.7.) */
import { isDeepStrictEqual } from 'node:util';
import type { SpawnRecord, TranscriptReading } from '../../harness/harness.ts';
import { type Anchor, noEvidence, type TranscriptEvidence } from '../evidence.ts';
import { firstWords } from '../first-words.ts';
import { cutBytes } from '../prompt.ts';
import { shortText } from '../spawns.ts';
import { storable } from '../storable.ts';

/** A file that counts: of the main thread, or of how an agent came to be. What the upload says of it goes before what it says itself. */
export type ThreadFile = {
  reading: TranscriptReading;
  thread_id: string; // '' of the main file
  agent_type: string;
  description: string;
  tool_use_id: string;
};

/** The main file comes first, then those of the agents, each thread's once. */
export function evidenceIn(files: readonly ThreadFile[]): TranscriptEvidence {
  const told = new Map<string, SpawnRecord>();
  const tell = (thread_id: string, spawn: SpawnRecord) => {
    if (thread_id !== '') told.set(thread_id, filled(told.get(thread_id) ?? nothing, spawn));
  };
  for (const file of files) tell(file.thread_id, ownWords(file));
  for (const { reading } of files) for (const { thread_id, ...spawn } of reading.spawned) tell(thread_id, spawn);
  return {
    anchors: new Map([...told].map(([thread_id, spawn]) => [thread_id, anchorOf(thread_id, spawn)])),
    prompts: promptsIn(told),
    title: titleIn(files),
    ...placeIn(files),
  };
}

const nothing: SpawnRecord = { tool_use_id: '', path: '', label: '', description: '', prompt: '' };

/** The first word holds; what it leaves open another may tell. */
const filled = (before: SpawnRecord, later: SpawnRecord): SpawnRecord => ({
  tool_use_id: before.tool_use_id || later.tool_use_id,
  path: before.path || later.path,
  label: before.label || later.label,
  description: before.description || later.description,
  prompt: before.prompt || later.prompt,
});

/** A harness's own name for the thread goes before what kind of agent the upload calls it. */
function ownWords({ reading, agent_type, description, tool_use_id }: ThreadFile): SpawnRecord {
  const own = reading.spawn ?? nothing;
  return { ...own, tool_use_id: tool_use_id || own.tool_use_id, label: own.label || agent_type, description };
}

const anchorOf = (thread_id: string, { tool_use_id, path, label, description }: SpawnRecord): Anchor => ({
  ...{ thread_id: storable(thread_id), tool_use_id: storable(tool_use_id), path: shortText(path) },
  label: shortText(label || (path.split('/').at(-1) ?? '')),
  description: shortText(description || path),
});

/** Words that more than one thread was given tell nothing. */
function promptsIn(told: ReadonlyMap<string, SpawnRecord>): Map<string, string> {
  const threads = new Map<string, string | null>();
  for (const [thread_id, { prompt }] of told) {
    const words = firstWords(prompt);
    if (words !== '') threads.set(words, threads.has(words) ? null : thread_id);
  }
  return new Map([...threads].filter((entry): entry is [string, string] => entry[1] !== null));
}

const TITLE_BYTES = 255;

/** Of the main file: an agent's is its own. */
function titleIn(files: readonly ThreadFile[]): string | null {
  const title = files.find(({ thread_id }) => thread_id === '')?.reading.title?.text ?? '';
  return cutBytes(storable(title), TITLE_BYTES) || null;
}

/** Where the main thread works, and under which version of its harness. */
function placeIn(files: readonly ThreadFile[]): Pick<TranscriptEvidence, 'cwd' | 'git_branch' | 'harness_version'> {
  const told = files.find(({ thread_id }) => thread_id === '')?.reading;
  const short = (words = '') => storable(words.slice(0, LONGEST_PLACE)) || null;
  return { cwd: short(told?.cwd), git_branch: short(told?.git_branch), harness_version: short(told?.harness_version) };
}

const LONGEST_PLACE = 4096;

/** How it is kept: as plain JSON. */
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
  ...noEvidence, // older builds kept less
  ...session,
  anchors: new Map(anchors.map((anchor) => [anchor.thread_id, anchor])),
  prompts: new Map(prompts),
});

/** Whether one tells otherwise than another what a session is called and where it works. */
export const differsOnSession = (
  { anchors: _a, prompts: _p, ...one }: TranscriptEvidence,
  other: TranscriptEvidence,
): boolean => {
  const { anchors: _b, prompts: _q, ...before } = other;
  return !isDeepStrictEqual(one, before);
};

/** The threads of which one evidence tells otherwise than another. */
export const changedThreads = (one: TranscriptEvidence, other: TranscriptEvidence): string[] =>
  [...new Set([...one.anchors.keys(), ...other.anchors.keys()])].filter(
    (thread_id) => !isDeepStrictEqual(one.anchors.get(thread_id), other.anchors.get(thread_id)),
  );

/** The threads whose first words one knows and the other does not. */
export const changedPrompts = (one: TranscriptEvidence, other: TranscriptEvidence): string[] =>
  [...new Set([...one.prompts.keys(), ...other.prompts.keys()])].flatMap((words) => {
    const [before, after] = [one.prompts.get(words), other.prompts.get(words)];
    return before === after ? [] : [before, after].filter((thread_id) => thread_id !== undefined);
  });
