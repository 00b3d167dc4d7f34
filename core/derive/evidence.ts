/** Evidence: what the fold looks up outside its calls, from transcripts and other sessions. Passed in, so that the fold stays pure. */

/** How a thread was started, according to its transcript or a spawn record. */
export type Anchor = {
  thread_id: string;
  tool_use_id: string; // of the tool call that spawned it; '' when unknown
  path: string; // in the tree of agents, such as `/root/reviewer`; ''
  label: string; // for people
  description: string;
};

export type TranscriptEvidence = {
  anchors: ReadonlyMap<string, Anchor>; // by thread_id
  /** Threads by the first words of their prompts (`first-words.ts`), for calls that do not name their thread. */
  prompts: ReadonlyMap<string, string>;
  title: string | null; // of a transcript; a title from a call over the wire takes precedence
  /** Of the main thread, used where calls over the wire do not hold it. */
  cwd: string | null;
  git_branch: string | null;
  harness_version: string | null;
};

const unknownSurroundings = { cwd: null, git_branch: null, harness_version: null };

export const noEvidence: TranscriptEvidence = {
  anchors: new Map(),
  prompts: new Map(),
  title: null,
  ...unknownSurroundings,
};
