/** Reads a Claude Code transcript: its conversation, how its sub-agents were started, its title. */
import type { Message } from '../model/bucket.ts';
import type { Reply } from '../model/reply.ts';
import type { TranscriptFile } from '../model/transcript.ts';
import { anthropicMessages } from '../provider/anthropic-messages.ts';
import { assertShallow, type Fields, fields, isFields, text } from '../provider/json.ts';
import { ANSWER_INTERRUPTED } from './claude-interruption.ts';
import {
  activePath,
  type ClaudeRecord,
  type ClaudeTree,
  claudeTree,
  type OtherPath,
  otherPaths,
} from './claude-path.ts';
import type { TranscriptReading } from './harness.ts';
import { noTally, omit, type Tally } from './omitted.ts';
import { recordTime } from './record-time.ts';
import { brokenOff, readable } from './transcript-answer.ts';
import { earlier, latest, openTranscriptBuilder, type TranscriptBuilder } from './transcript-builder.ts';

/** The types of the records in the tree of the conversation. */
const CONVERSATION_TYPES = new Set(['user', 'assistant', 'system', 'attachment']);

export function readClaudeTranscript(file: TranscriptFile): TranscriptReading {
  const { records, received_at, main } = file;
  const tally = noTally();
  const tree = claudeTree(records);
  const path = activePath(tree, main);
  const builder = openTranscriptBuilder(received_at, { joined: true });
  const at = (record: ClaudeRecord) => recordTime(record.raw, received_at);
  const made = madeIn(file);
  const firstWords = addPath(path, builder, { at, made, tally });

  const active = new Set(path.map(({ raw }) => raw));
  const beside = otherPaths(tree, path, main).map((other) => {
    for (const { raw } of other.path) {
      if (!active.has(raw)) tally.projected++;
      active.add(raw);
    }
    return besideIn(other, file, { at });
  });
  const titles = titlesOf(records);
  for (const record of records) tallyRest(record, { active, tree, tally });
  const times = records.map((record) => recordTime(record, received_at)).filter((time) => time !== null);
  return {
    format: 'anthropic.messages',
    harness_version: latestText(path, 'version'),
    cwd: latestText(path, 'cwd'),
    git_branch: branchOf(latestText(path, 'gitBranch')),
    calls: builder.calls,
    beside,
    spawn: main
      ? null
      : { tool_use_id: '', path: '', label: latestText(path, 'attributionAgent'), description: '', prompt: firstWords },
    spawned: records.flatMap(spawnedIn),
    is_spawn_evidence: true,
    title: titles.reduce<TranscriptReading['title']>((best, one) => (best && best.rank > one.rank ? best : one), null),
    first_at: times.reduce<string | null>(earlier, null),
    last_at: times.reduce<string | null>((one, other) => latest(other, one), null),
    projected_records: tally.projected,
    omitted: tally.omitted,
  };
}

/** A branch of the file's own thread, or a sub-agent, which is identified by its first record. */
function besideIn(
  { path, root, is_side }: OtherPath,
  file: TranscriptFile,
  { at }: Pick<PathContext, 'at'>,
): TranscriptReading['beside'][number] {
  const thread_id = is_side ? `sidechain-${root.uuid}` : '';
  const own = is_side ? { ...file, main: false, agent_id: thread_id } : file;
  const builder = openTranscriptBuilder(file.received_at, { joined: true });
  const prompt = addPath(path, builder, { at, made: madeIn(own), tally: noTally() });
  return { thread_id, prompt, calls: builder.calls };
}

/** Where a record was made: a session that was forked or resumed from another holds records of that one, which may not name it. */
function madeIn({ harness_session_id, main, agent_id }: TranscriptFile) {
  const agent = main ? '' : ` ${agent_id}`;
  return ({ raw }: ClaudeRecord) => {
    const session = text(fields(raw.forkedFrom).sessionId) || text(raw.sessionId) || harness_session_id;
    return { thread: `${session}${agent}`, is_own: session === harness_session_id };
  };
}

type PathContext = { at(record: ClaudeRecord): string | null; made: ReturnType<typeof madeIn>; tally: Tally };

/** Adds the records of a path. @returns the first words of the thread's prompt */
function addPath(path: readonly ClaudeRecord[], builder: TranscriptBuilder, { at, made, tally }: PathContext): string {
  let firstWords = '';
  for (let i = 0; i < path.length; i++) {
    const record = path[i];
    if (!record) continue;
    if (record.type === 'assistant') {
      const pieces = [record];
      for (let next = path[i + 1]; next && record.answer !== '' && next.answer === record.answer; next = path[i + 1]) {
        pieces.push(next);
        i++;
      }
      addAnswer({ pieces, next: path[i + 1] }, builder, { at, made, tally });
    } else if (CONVERSATION_TYPES.has(record.type)) {
      const added = addedMessage(record);
      if (record.raw.subtype === 'compact_boundary') builder.truncate(0);
      else if (typeof added === 'string') omit(tally, added);
      else builder.addMessage({ ...added, at: at(record) });
      if (typeof added !== 'string') tally.projected++;
      if (typeof added !== 'string' && firstWords === '' && added.injected === '') firstWords = wordsOf(added.message);
      if (record.type === 'user' && text(record.raw.promptId) !== '') builder.setTurn(text(record.raw.promptId));
    }
  }
  return firstWords;
}

/** @param next the record after the answer */
function addAnswer(
  { pieces, next }: { pieces: readonly ClaudeRecord[]; next: ClaudeRecord | undefined },
  builder: TranscriptBuilder,
  { at, made, tally }: PathContext,
): void {
  const [first] = pieces;
  if (!first) return;
  const reply = replyOf(pieces);
  if (typeof reply === 'string') {
    for (const _ of pieces) omit(tally, reply);
    return;
  }
  tally.projected += pieces.length;
  const isBrokenOff = reply.stop_reason === '' && next !== undefined && saysInterrupted(next);
  const times = pieces.map(at).filter((time) => time !== null);
  builder.addAnswer({
    local_id: first.answer || first.uuid,
    request_id: text(first.raw.requestId),
    ...made(first),
    reply: isBrokenOff ? brokenOff(reply) : reply,
    ending: isBrokenOff ? 'client_closed' : 'complete',
    from: times[0] ?? null,
    until: times.reduce<string | null>((one, other) => latest(other, one), null),
  });
}

/** An answer that had ended has a reason: the hooks after it were interrupted. */
function saysInterrupted({ type, raw }: ClaudeRecord): boolean {
  const { content } = fields(raw.message);
  return type === 'user' && linesOf(content).trim() === ANSWER_INTERRUPTED;
}

/** The document that the provider would have sent in one piece, read as such; else the reason why it is omitted. */
function replyOf(pieces: readonly ClaudeRecord[]): Reply | string {
  const messages = pieces.map(({ raw }) => fields(raw.message));
  const last = (key: string) => messages.map((message) => text(message[key])).findLast((value) => value !== '') ?? '';
  if (last('model') === '<synthetic>') return 'message:synthetic'; // the harness's own words in place of an answer
  const other = messages.find(({ role }) => role !== 'assistant' && typeof role === 'string');
  if (other) return `message:${text(other.role)}`;
  const reply = readable(() => {
    assertShallow(messages, 'an answer in a transcript');
    const usage = messages.map((message) => message.usage).reduce(greatest, undefined);
    return anthropicMessages.reply(
      Buffer.from(
        JSON.stringify({
          ...{ id: last('id'), type: 'message', role: 'assistant', model: last('model') },
          ...{ content: blocksOf(messages), stop_reason: last('stop_reason'), usage },
        }),
      ),
      'application/json',
    );
  });
  if (reply === null) return 'malformed:assistant';
  return reply.content.length === 0 ? 'message:empty' : reply;
}

/** The blocks of all pieces; a tool call that a later piece repeats counts once. */
function blocksOf(messages: readonly Fields[]): unknown[] {
  const seenIds = new Set<string>();
  return messages
    .flatMap(({ content }): unknown[] => {
      if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
      return Array.isArray(content) ? content : [null]; // an invalid block makes the answer unreadable
    })
    .filter((block) => {
      const { type, id } = fields(block);
      if (typeof id !== 'string' || !text(type).endsWith('tool_use')) return true;
      return seenIds.has(id) ? false : seenIds.add(id);
    });
}

/** Counters grow while an answer streams: the greatest value of each is taken. */
function greatest(before: unknown, later: unknown): unknown {
  if (typeof before === 'number' && typeof later === 'number') return Math.max(before, later);
  if (!isFields(before) || !isFields(later)) return later ?? before;
  const keys = [...new Set([...Object.keys(before), ...Object.keys(later)])];
  return Object.fromEntries(keys.map((key) => [key, greatest(before[key], later[key])]));
}

type AddedMessage = { message: Message; injected: string };

/** The message that a record adds, or the kind as which the record is omitted. `system-insert` marks what the harness injected. */
function addedMessage({ type, raw }: ClaudeRecord): AddedMessage | string {
  if (type === 'user') return userMessage(raw);
  const words = type === 'system' ? text(raw.content) : attachedText(fields(raw.attachment));
  if (words.trim() === '') return type;
  return { message: { role: 'system', content: [{ type: 'text', text: words }] }, injected: 'system-insert' };
}

function userMessage(raw: Fields): AddedMessage | string {
  const { role, content } = fields(raw.message);
  if (typeof role === 'string' && role !== 'user') return `message:${role}`;
  const message = readable(() => anthropicMessages.message({ role: 'user', content }));
  if (message === null) return 'malformed:user';
  return { message, injected: raw.isMeta === true ? 'system-insert' : '' };
}

/** How the harness introduces lists when it sends them. */
const INTRODUCED: Record<string, string> = {
  skill_listing: 'The following skills are available for use with the Skill tool:\n\n',
  agent_listing_delta: 'Available agent types for the Agent tool:\n',
};

function attachedText(attachment: Fields): string {
  const type = text(attachment.type);
  const { content, prompt, addedLines, addedBlocks } = attachment;
  const words =
    [content, prompt, addedLines, addedBlocks, attachment.text].map(linesOf).find((candidate) => candidate !== '') ??
    '';
  return words === '' ? '' : `${Object.hasOwn(INTRODUCED, type) ? INTRODUCED[type] : ''}${words}`;
}

function linesOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .map((line) => (typeof line === 'string' ? line : text(fields(line).text)))
    .filter((line) => line !== '')
    .join('\n');
}

const wordsOf = ({ content }: Message): string =>
  content
    .flatMap((block) => (block.type === 'text' && block.text ? [block.text] : []))
    .join('\n')
    .trim();

/** The thread that a record names as spawned, in the result of the spawning tool. */
function spawnedIn(record: unknown): TranscriptReading['spawned'] {
  const raw = fields(record);
  const result = fields(raw.toolUseResult);
  const thread_id = text(result.agentId);
  const { content } = fields(raw.message);
  const answered = Array.isArray(content) ? content.map((block) => text(fields(block).tool_use_id)) : [];
  const [tool_use_id = ''] = answered.filter((id) => id !== '');
  if (raw.type !== 'user' || thread_id === '' || tool_use_id === '') return [];
  const details = { label: text(result.agentType), description: text(result.description), prompt: text(result.prompt) };
  return [{ thread_id, tool_use_id, path: '', ...details }];
}

/** The types of records that hold titles. The higher rank wins, of equals the later one. */
const TITLES: Record<string, { rank: number; key: string }> = {
  'custom-title': { rank: 4, key: 'customTitle' },
  'ai-title': { rank: 3, key: 'aiTitle' },
  summary: { rank: 2, key: 'summary' },
  'agent-name': { rank: 1, key: 'agentName' },
};

function titleIn(record: unknown): { text: string; rank: number } | null {
  const type = text(fields(record).type);
  const known = Object.hasOwn(TITLES, type) ? TITLES[type] : undefined;
  const title = known ? (text(fields(record)[known.key]) || text(fields(record).title)).trim() : '';
  return known && title !== '' ? { text: title, rank: known.rank } : null;
}

const titlesOf = (records: readonly unknown[]) => records.map(titleIn).filter((title) => title !== null);

/** Counts a record that is not part of the conversation: of another branch, or of none. */
function tallyRest(
  record: unknown,
  { active, tree, tally }: { active: ReadonlySet<unknown>; tree: ClaudeTree; tally: Tally },
): void {
  const raw = fields(record);
  const type = text(raw.type);
  if (type === '') omit(tally, 'unknown');
  else if (CONVERSATION_TYPES.has(type) && typeof raw.uuid !== 'string') omit(tally, `malformed:${type}`);
  else if (CONVERSATION_TYPES.has(type)) {
    if (!active.has(record)) omit(tally, 'inactive-branch');
  } else if (type === 'last-prompt' && tree.byId.has(text(raw.leafUuid))) tally.projected++;
  else if (titleIn(record) === null) omit(tally, Object.hasOwn(TITLES, type) ? `malformed:${type}` : type);
  else tally.projected++;
}

/** `HEAD` stands for no branch, or no repository. */
const branchOf = (branch: string): string => (branch === 'HEAD' ? '' : branch);

const latestText = (path: readonly ClaudeRecord[], key: string): string =>
  path.map(({ raw }) => text(raw[key])).findLast((value) => value !== '') ?? '';
