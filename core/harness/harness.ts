/** The interface of an agent harness. One value per harness, in a file of its own; nothing here does I/O or keeps state. */
import type { Message } from '../model/bucket.ts';
import type { CallKind } from '../model/call-kind.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { Ending } from '../model/coverage.ts';
import type { HeaderList } from '../model/headers.ts';
import type { Reply } from '../model/reply.ts';
import type { TranscriptFile } from '../model/transcript.ts';
import type { FormatId } from '../provider/formats.ts';

export type Harness = {
  /** As in `identity.harness_id`. */
  id: string;
  /** How a newcomer starts it through the proxy, whose address is given; null: not shown. */
  start: { name: string; line(proxy: string): string } | null;
  /** The request headers that name a call's session. */
  sessionHeaders: readonly string[];
  /** Headers of its own whose value differs on nearly every call, in lower case. */
  changingHeaders: readonly string[];
  /** Paths to which it sends what requests no turn of a model: each with all paths below it. */
  noTurnPaths: readonly string[];
  /** What it adds at the end of a model's name while the model is the same, in lower case. */
  modelSuffixes: readonly string[];
  /** The session and version that a call names; null: it is not this harness's. @param skeleton the parsed body, cut arrays empty; null: unreadable */
  signs(headers: HeaderList, skeleton: Record<string, unknown> | null): HarnessSigns | null;
  /** The sub-agent that makes the call; '': the main thread, or unknown. */
  threadOf(headers: HeaderList): string;
  /** The kind of whole-message context that the harness puts in, such as `mcp-instructions`; '' is conversation. `text` is trimmed, of a user's or the system's message. */
  injectedKind(text: string): string;
  /**
   * Tags that stay out of a message's hash, with their content: the harness puts other text into them each time. They are removed one
   * name at a time, in this order. A tag that is added or moved changes the hashes of messages that hold it.
   */
  unhashedTags: readonly string[];
  /** Tags around what the harness adds to a person's words: removed with their content. */
  wrappers: readonly string[];
  /** Tags around a person's own words: only the tags are removed. */
  unwrapped: readonly string[];
  /** What the harness writes at the beginning of a person's words; null: nothing. */
  preamble: RegExp | null;
  /** Whether the harness itself wrote a user's message, such as the summary of a compaction. `text` is trimmed and without wrappers. */
  speaks(text: string): boolean;
  /** What a call beside the conversation is for; null: none that this harness makes. */
  callKind(call: CallTraits): CallKind | null;
  /** The action that a permission check judges, as the check shows it; '' when the call is none or shows none. */
  judgedAction(call: CallTraits): string;
  /** The verdict in the answer of a permission check; null: it holds none. */
  verdict(output: readonly ContentBlock[]): PermissionVerdict | null;
  /** Its tools that run a command line. They are shown as `SHELL`, where they hold one. */
  shells: readonly string[];
  /** By kind of a call beside the conversation, the tools that such a call serves. */
  servedTools: Partial<Record<CallKind, readonly string[]>>;
  /** The thread that a tool call spawns; null: the tool spawns none. */
  spawn(tool: { tool_name: string; tool_input: unknown }): SpawnRequest | null;
  /** The names of the new thread in the result of such a tool: its id, its path. */
  spawned(result: ContentBlock): string[];
  /** What the call's metadata holds about its thread; '' where it holds nothing. */
  thread(metadata: Record<string, unknown> | null): { path: string; label: string };
  /** Where the harness runs, as the call's content has it; null: the content is not this harness's. */
  surroundings(call: CallTraits): Surroundings | null;
  /** The session's tasks after one of its task tools has run; null: the tool is none of them. */
  tasksAfter(
    tasks: readonly Task[],
    tool: { tool_name: string; tool_input: unknown },
    result: ContentBlock,
  ): Task[] | null;
  /** The title in the answer of a title call; '' when there is none. */
  titleIn(output: readonly ContentBlock[]): string;
  /** The summary in the answer of a compaction; null: it is not marked there. */
  summaryIn(answer: string): string | null;
  /** Reads a transcript; null: the harness's files cannot be read yet. It gives a reading whatever the records hold. */
  readTranscript: ((file: TranscriptFile) => TranscriptReading) | null;
};

/** '' or null: unknown. */
export type HarnessSigns = {
  harness_id: string;
  harness_session_id: string;
  harness_version: string;
  parent_harness_session_id: string; // of the session whose sub-agent this one is
  parent_thread_id: string;
  harness_metadata: Record<string, unknown> | null;
};

/** What a call is classified by. Texts are read on demand, since most calls are classified by less. */
export type CallTraits = {
  harness_id: string;
  stream: boolean;
  max_tokens: number | null;
  tool_count: number;
  system(): string;
  first(): Message | null; // of the conversation: neither `first` nor `last` gives a system message
  last(back?: number): Message | null; // or so many messages before it
  reply: Reply | null;
};

/** '' is unknown. `agent_name`: who makes the call. */
export type Surroundings = { cwd: string; git_branch: string; agent_name: string };

export type PermissionVerdict = { disposition: 'ALLOW' | 'BLOCK'; stage: 1 | 2; reasoned: boolean };

/** `prompt`: the new thread's first words, where the tool call holds them; `label` and `description` for people. */
export type SpawnRequest = { prompt: string; label: string; description: string };

export type Task = {
  id: string;
  subject: string;
  status: string;
  changed_by?: string; // the span of the tool that changed it last; set by derivation
};

/** One answered call of a transcript, with what its thread added since the call before. */
export type TranscriptCall = {
  local_id: string; // names it within its file, however the file grows: by the answer's id, else its record's
  turn_id: string; // of the harness's own turn; '' when unknown
  requested_at: string; // of the earliest fresh record; UTC with microseconds
  ended_at: string; // of the answer's last record
  ending: Ending; // `client_closed`: the file shows that a person broke the answer off
  /** How many messages of the history before this call it continues: fewer than there are after a compaction or on another branch. */
  keeps: number;
  added: { message: Message; injected: string }[]; // to that history, before the answer
  request_id: string; // the provider's id of the request; ''
  /** Where the call was made according to the harness: in which of its threads, and as which answer there, 0 first. */
  made: { thread: string; position: number };
  is_own: boolean; // false: inherited from another session, or uploaded under another session's name
  reply: Reply; // as the harness received it: `usage` is null where the transcript has none
  format?: FormatId; // in which it is priced and known by its ids, where the file says it of each call; else the file's
};

/** How a thread was started, according to a file. '' is unknown. */
export type SpawnRecord = { tool_use_id: string; path: string; label: string; description: string; prompt: string };

export type TranscriptReading = {
  /** The format in which its messages are hashed, and its calls priced that have none of their own. */
  format: FormatId;
  harness_version: string; // ''
  cwd: string; // ''
  git_branch: string; // ''
  calls: TranscriptCall[]; // of the active path, in order
  /** Calls beside the active path: on branches that were left, and of sub-agents that have no file of their own. */
  beside: { thread_id: string; prompt: string; calls: TranscriptCall[] }[]; // `thread_id` '': the file's own
  /** How the file's own thread was started, according to the file. */
  spawn: SpawnRecord | null;
  /** How other threads were started, according to the file; the first record of a thread takes precedence. */
  spawned: (SpawnRecord & { thread_id: string })[];
  /** False for a record of a thread that is entered again or ends: it never supersedes a spawn. */
  is_spawn_evidence: boolean;
  title: { text: string; rank: number } | null; // the higher rank wins
  first_at: string | null; // of the records that have a time
  last_at: string | null;
  projected_records: number;
  omitted: Record<string, number>; // record types that were not used, `malformed:<type>` and `inactive-branch` among them
};
