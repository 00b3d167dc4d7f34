/** What must be known of an agent harness? One value per harness, in a file of its own; nothing here does I/O or keeps state. */
import type { Message } from '../model/bucket.ts';
import type { CallKind } from '../model/call-kind.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { HeaderList } from '../model/headers.ts';
import type { FormatId } from '../model/provider.ts';
import type { Reply } from '../model/reply.ts';
import type { TranscriptFile } from '../model/transcript.ts';

export type Harness = {
  /** As in `identity.harness_id`. */
  id: string;
  /** What a call tells of itself; null: it is not this harness's. @param skeleton the parsed body with its cut arrays empty; null when it cannot be read */
  signs(headers: HeaderList, skeleton: Record<string, unknown> | null): HarnessSigns | null;
  /** The sub-agent that makes the call; '': the main thread, or not told. */
  threadOf(headers: HeaderList): string;
  /** The kind of whole-message context that the harness puts in, such as `mcp-instructions`; '' is conversation. `text` is trimmed, of a user's or the system's message. */
  injectedKind(text: string): string;
  /** Tags around what the harness adds to a person's words: removed with all they hold. */
  wrappers: readonly string[];
  /** Whether the harness itself speaks in a user's message, as in the summary that a conversation goes on from. `text` is trimmed and without wrappers. */
  speaks(text: string): boolean;
  /** What a call beside the conversation is for; null: none that this harness makes. */
  callKind(call: CallTraits): CallKind | null;
  /** The action that a permission check judges, as the check shows it; '' when the call is none or shows none. */
  judgedAction(call: CallTraits): string;
  /** What a permission check answered. */
  verdict(output: readonly ContentBlock[]): PermissionVerdict | null;
  /** Tools by which a thread spawns another, by name; null for any other tool. */
  spawn(tool: { tool_name: string; tool_input: unknown }): SpawnRequest | null;
  /** Names that the result of such a tool gives the new thread: its id, its path. */
  spawned(result: ContentBlock): string[];
  /** What the call's identity tells of where its thread comes from. */
  thread(metadata: Record<string, unknown> | null): { path: string; label: string };
  /** Where it runs, as the call's own words have it; null: they are not this harness's. */
  surroundings(call: CallTraits): Surroundings | null;
  /** The session's tasks after one of its task tools has run; null: the tool is none of them. */
  tasksAfter(
    tasks: readonly Task[],
    tool: { tool_name: string; tool_input: unknown },
    result: ContentBlock,
  ): Task[] | null;
  /** The title in the answer of a title call; '' when there is none. */
  titleIn(output: readonly ContentBlock[]): string;
  /** What a transcript says; null: the harness's files cannot be read yet. Whatever the records hold, it answers. */
  readTranscript: ((file: TranscriptFile) => TranscriptReading) | null;
};

/** '' or null: not told. */
export type HarnessSigns = {
  harness_id: string;
  harness_session_id: string;
  harness_version: string;
  parent_harness_session_id: string; // of whose session this one is a sub-agent's
  parent_thread_id: string;
  harness_metadata: Record<string, unknown> | null;
};

/** What there is of a call to tell it by. Texts are looked up when they are asked for: most calls are told by less. */
export type CallTraits = {
  harness_id: string;
  stream: boolean;
  max_tokens: number | null;
  tool_count: number;
  system(): string;
  first(): Message | null; // of the conversation: what is said as system stands in none of the two
  last(back?: number): Message | null; // or so many messages before it
  reply: Reply | null;
};

/** '' is not told. `agent_name`: who makes the call. */
export type Surroundings = { cwd: string; git_branch: string; agent_name: string };

export type PermissionVerdict = { disposition: 'ALLOW' | 'BLOCK'; stage: 1 | 2; reasoned: boolean };

/** `prompt`: the new thread's first words, where the tool call holds them; `label` and `description` for people. */
export type SpawnRequest = { prompt: string; label: string; description: string };

export type Task = { id: string; subject: string; status: string };

/** One answered call of a transcript, with what its thread added since the call before. */
export type TranscriptCall = {
  local_id: string; // names it within its file, however the file grows: by the answer's id, else its record's
  turn_id: string; // of the harness's own turn; '' when not told
  requested_at: string; // of the earliest fresh record; UTC with microseconds
  ended_at: string; // of the answer's last record
  /** Of the history before this call, how many messages it goes on from: fewer than there are after a compaction or on another branch. */
  keeps: number;
  added: { message: Message; injected: string }[]; // to that history, before the answer
  request_id: string; // the provider's id of the request; ''
  /** Where the harness says that it was made: in which of its threads, as the how many-th answer there, 0 first. */
  made: { thread: string; position: number };
  is_own: boolean; // false: brought along from another session, or under another session's name
  reply: Reply; // a transcript says what its harness was told: `usage` is null where it does not say
};

/** A thread that a file says another one is the origin of. '' is not told. */
export type SpawnRecord = { tool_use_id: string; path: string; label: string; description: string; prompt: string };

export type TranscriptReading = {
  /** As whose calls its calls are hashed and priced. */
  format: FormatId;
  harness_version: string; // ''
  cwd: string; // ''
  git_branch: string; // ''
  calls: TranscriptCall[]; // of the active path, in order
  /** What was answered beside it: on branches that were left, and by sub-agents that have no file of their own. */
  beside: { thread_id: string; prompt: string; calls: TranscriptCall[] }[]; // `thread_id` '': the file's own
  /** What the file says of how its thread came to be. */
  spawn: SpawnRecord | null;
  /** What it says of how others came to be; the first word about a thread holds. */
  spawned: (SpawnRecord & { thread_id: string })[];
  /** False for a record of a thread that is entered again or ends: it never supersedes a spawn. */
  is_spawn_evidence: boolean;
  title: { text: string; rank: number } | null; // the higher rank wins
  first_at: string | null; // of the records that have a time
  last_at: string | null;
  projected_records: number;
  omitted: Record<string, number>; // record types that nothing was made of, `malformed:<type>` and `inactive-branch` among them
};
