/** Reads a transcript of pi: entries that form a tree, of which those from the root to the last one are the conversation. */
import type { ContentBlock } from '../model/content-block.ts';
import type { TranscriptFile } from '../model/transcript.ts';
import { type Fields, fields, isFields, text } from '../provider/json.ts';
import type { TranscriptReading } from './harness.ts';
import { noTally, omit, type Tally } from './omitted.ts';
import { recordTime } from './record-time.ts';
import {
  formatOfProvider,
  isAnswer,
  objectsIn,
  plainBlocks,
  recordedReply,
  recordedUsage,
  textsIn,
  toolResult,
  toolUse,
} from './recorded-answer.ts';
import { brokenOff, readable } from './transcript-answer.ts';
import { earlier, latest, openTranscriptBuilder, type TranscriptBuilder } from './transcript-builder.ts';

type Entry = { id: string; parent: string; type: string; raw: Fields; at: string | null };

export function readPiTranscript(file: TranscriptFile): TranscriptReading {
  const { records, received_at } = file;
  const tally = noTally();
  const header = fields(records.find((record) => fields(record).type === 'session'));
  const entries = entriesIn(records, received_at);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const active = pathTo(entries.at(-1), byId);
  const context = { tally, startedAt: recordTime(header, received_at) };
  const builder = openTranscriptBuilder(received_at, { joined: false });
  addPath(active, builder, context);

  const parents = new Set(entries.map(({ parent }) => parent));
  const others = entries.filter((entry) => !parents.has(entry.id) && entry !== active.at(-1)).slice(-MOST_BRANCHES);
  const reached = new Set(active);
  const beside = others.map((leaf) => {
    const branch = openTranscriptBuilder(received_at, { joined: false });
    addPath(pathTo(leaf, byId), branch, { ...context, tally: noTally() });
    return { thread_id: '', prompt: '', calls: branch.calls };
  });
  for (const entry of entries) if (!reached.has(entry)) omit(tally, isKnown(entry) ? 'inactive-branch' : entry.type);
  for (const record of records) if (!isFields(record) || text(record.type) === '') omit(tally, 'unknown');
  if (text(header.id) !== '') tally.projected++;
  const times = entries.map(({ at }) => at).filter((at) => at !== null);
  const answer = entries.map(({ raw }) => fields(raw.message)).find(({ role }) => role === 'assistant') ?? {};
  const names = entries.flatMap(({ type, raw }) => (type === 'session_info' ? [text(raw.name).trim()] : []));
  const title = names.findLast((name) => name !== '');
  return {
    format: formatOfProvider(providerOf(answer)),
    harness_version: '',
    cwd: text(header.cwd),
    git_branch: '',
    calls: builder.calls,
    beside: beside.filter(({ calls }) => calls.length > 0),
    spawn: null,
    spawned: [],
    is_spawn_evidence: true,
    title: title === undefined ? null : { text: title, rank: 4 },
    first_at: times.reduce<string | null>(earlier, context.startedAt),
    last_at: times.reduce<string | null>((one, other) => latest(other, one), context.startedAt),
    projected_records: tally.projected,
    omitted: tally.omitted,
  };
}

const KNOWN_TYPES = ['message', 'compaction', 'branch_summary', 'custom_message', 'model_change', 'session_info'];
const isKnown = ({ type }: Entry): boolean => KNOWN_TYPES.includes(type) || type === 'thinking_level_change';

/** A person goes back only a few times. The newest are read. */
const MOST_BRANCHES = 64;

/** Entries of the oldest version have no id: each follows the one before. */
function entriesIn(records: readonly unknown[], received_at: string): Entry[] {
  const entries: Entry[] = [];
  const seen = new Set<string>();
  for (const [line, record] of records.entries()) {
    const raw = fields(record);
    const type = text(raw.type);
    const id = text(raw.id) || `line:${line}`;
    if (type === '' || type === 'session' || seen.has(id)) continue;
    seen.add(id);
    const parent = raw.parentId === undefined ? (entries.at(-1)?.id ?? '') : text(raw.parentId);
    entries.push({ id, parent, type, raw, at: recordTime(raw, received_at) });
  }
  return entries;
}

function pathTo(leaf: Entry | undefined, byId: ReadonlyMap<string, Entry>): Entry[] {
  const path = new Set<Entry>();
  for (let at = leaf; at && !path.has(at); at = byId.get(at.parent)) path.add(at);
  return [...path].reverse();
}

type Context = { tally: Tally; startedAt: string | null };

function addPath(path: readonly Entry[], builder: TranscriptBuilder, context: Context): void {
  for (const [i, entry] of path.entries()) {
    const { raw, type, at } = entry;
    const isUsed = (() => {
      switch (type) {
        case 'message':
          return addMessage(entry, builder, context);
        case 'compaction':
          return addCompaction(raw, path.slice(0, i), builder, at);
        case 'branch_summary':
        case 'custom_message':
          return addText(text(raw.summary) || textsIn(plainBlocks(raw.content)), builder, at, 'system-insert');
        case 'model_change':
        case 'thinking_level_change':
        case 'session_info':
          return true;
        default:
          return false;
      }
    })();
    if (isUsed) context.tally.projected++;
    else omit(context.tally, type === 'message' ? `message:${text(fields(raw.message).role)}` : type);
  }
}

function addText(words: string, builder: TranscriptBuilder, at: string | null, injected: string): boolean {
  if (words === '') return false;
  builder.addMessage({ message: { role: 'user', content: [{ type: 'text', text: words }] }, injected, at });
  return true;
}

function addMessage(entry: Entry, builder: TranscriptBuilder, { startedAt }: Context): boolean {
  const { raw, at, id } = entry;
  const message = fields(raw.message);
  if (message.role === 'assistant') return addAnswer(entry, message, builder, startedAt);
  const sent = sentMessage(message);
  if (sent === null) return false;
  if (message.role === 'user') builder.setTurn(id);
  builder.addMessage({ message: sent, injected: '', at });
  return true;
}

function sentMessage(message: Fields) {
  const content = plainBlocks(message.content);
  if (message.role === 'toolResult') {
    const result = toolResult(text(message.toolCallId), textsIn(content), message.isError === true);
    return { role: 'tool' as const, content: [result, ...content.filter(({ type }) => type === 'image')] };
  }
  return message.role === 'user' && content.length > 0 ? { role: 'user' as const, content } : null;
}

/** A session that was forked from another begins with that one's entries: they keep their ids and times, and were not made here. */
function addAnswer(
  { id, at, raw }: Entry,
  message: Fields,
  builder: TranscriptBuilder,
  startedAt: string | null,
): boolean {
  const content = readable(() => objectsIn(message.content).flatMap(answerBlock));
  if (content === null) return false;
  const used = isUsage(message.usage) ? message.usage : null;
  const reply = recordedReply({
    ...{ content, model: text(message.model), response_id: text(message.responseId) },
    stop_reason: STOP_REASONS[text(message.stopReason)] ?? '',
    usage: used && recordedUsage({ ...usageParts(used), reasoning: used.reasoning }),
    usage_verbatim: used,
  });
  if (!isAnswer(reply)) return false;
  const isAborted = message.stopReason === 'aborted' || message.stopReason === 'error';
  builder.addAnswer({
    ...{ local_id: id, request_id: '', thread: `pi ${id} ${text(raw.timestamp)}` },
    is_own: at === null || startedAt === null || at >= startedAt,
    reply: isAborted ? brokenOff(reply) : reply,
    ...(providerOf(message) !== '' && { format: formatOfProvider(providerOf(message)) }),
    ending: isAborted ? 'client_closed' : 'complete',
    ...{ from: at, until: at },
  });
  return true;
}

/** Its words for the provider and its API; '' for none. */
const providerOf = ({ provider, api }: Fields): string => `${text(provider)} ${text(api)}`.trim();

const isUsage = (value: unknown): value is Fields => isFields(value) && ('input' in value || 'output' in value);
const usageParts = ({ input, output, cacheRead, cacheWrite }: Fields) => ({ input, output, cacheRead, cacheWrite });

/** Its words for why an answer ended, in those of a provider. */
const STOP_REASONS: Record<string, string> = { stop: 'stop', length: 'length', toolUse: 'tool_calls' };

function answerBlock(block: Fields): ContentBlock[] {
  switch (block.type) {
    case 'text':
      return text(block.text) === '' ? [] : [{ type: 'text', text: text(block.text) }];
    case 'thinking':
      return text(block.thinking) === '' ? [] : [{ type: 'thinking', thinking: text(block.thinking) }];
    case 'toolCall':
      return [toolUse(text(block.id), text(block.name), block.arguments)];
    default:
      return [];
  }
}

/** The history becomes its summary and the entries from the first one that is kept. */
function addCompaction(raw: Fields, before: readonly Entry[], builder: TranscriptBuilder, at: string | null): boolean {
  const summary = text(raw.summary);
  if (summary === '') return false;
  builder.truncate(0);
  addText(summary, builder, at, '');
  const first = before.findIndex(({ id }) => id === text(raw.firstKeptEntryId));
  for (const { raw: kept } of first === -1 ? [] : before.slice(first)) {
    const message = fields(kept.message);
    const content = readable(() => objectsIn(message.content).flatMap(answerBlock));
    if (message.role === 'assistant' && content && content.length > 0)
      builder.addHistory({ role: 'assistant', content });
    const sent = sentMessage(message);
    if (sent) builder.addHistory(sent);
  }
  return true;
}
