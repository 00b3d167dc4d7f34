/** What does the fold look up outside its calls? What transcripts and other sessions say; given to it, so that it stays pure. */

/** How a thread came to be, as its transcript or a spawn record says. */
export type Anchor = {
  thread_id: string;
  tool_use_id: string; // of the tool call that spawned it; '' when not told
  path: string; // in the tree of agents, such as `/root/reviewer`; ''
  label: string; // for people
  description: string;
};

export type TranscriptEvidence = {
  anchors: ReadonlyMap<string, Anchor>; // by thread_id
  /** Threads by the first words they were given (`first-words.ts`), for calls that do not name their thread. */
  prompts: ReadonlyMap<string, string>;
  title: string | null; // of a transcript; a title that was asked for over the wire goes before it
  /** Of the main thread, where calls over the wire do not say it. */
  cwd: string | null;
  git_branch: string | null;
  harness_version: string | null;
};

const nowhere = { cwd: null, git_branch: null, harness_version: null };

export const noEvidence: TranscriptEvidence = { anchors: new Map(), prompts: new Map(), title: null, ...nowhere };
