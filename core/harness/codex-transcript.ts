/** Reads a Codex rollout: its conversation, and how its thread and those that it spawned were started. */
import type { Message } from '../model/bucket.ts';
import type { Ending } from '../model/coverage.ts';
import type { TranscriptFile } from '../model/transcript.ts';
import { type Fields, fields, isFields, text } from '../provider/json.ts';
import { openaiResponses } from '../provider/openai-responses.ts';
import { type CodexFork, codexFork } from './codex-fork.ts';
import { activityIn, isSpawnEvidence, spawnedIn, threadSpawn } from './codex-spawns.ts';
import { type CodexUsage, codexReply, sameTotal, withUsage } from './codex-usage.ts';
import type { TranscriptCall, TranscriptReading } from './harness.ts';
import { noTally, omit, type Tally } from './omitted.ts';
import { recordTime } from './record-time.ts';
import { brokenOff, readable } from './transcript-answer.ts';
import { earlier, latest, openTranscriptBuilder, type TranscriptBuilder } from './transcript-builder.ts';

export function readCodexTranscript(file: TranscriptFile): TranscriptReading {
  const { records, received_at, main } = file;
  const metas = records.map(fields).filter(({ type }) => type === 'session_meta');
  const meta = fields(metas[0]?.payload);
  const reading: Reading = {
    ...{
      builder: openTranscriptBuilder(received_at, { joined: false }),
      tally: noTally(),
      ...{ thread: text(meta.id), fork: codexFork(metas, received_at), main },
      isOwnFile: !main || text(meta.id) === file.harness_session_id,
      model: '',
      firstWords: '',
      title: null,
    },
    ...{ open: null, awaitingUsage: null, total: null, prompts: [] },
    hasUsageRecords: false,
  };
  for (const [line, record] of records.entries()) {
    addRecord(reading, record, { line, at: recordTime(record, received_at) });
  }
  close(reading, null);
  const times = records.map((record) => recordTime(record, received_at)).filter((time) => time !== null);
  return {
    format: 'openai.responses',
    harness_version: text(meta.cli_version),
    cwd: text(meta.cwd),
    git_branch: text(fields(meta.git).branch),
    calls: reading.builder.calls,
    beside: [],
    spawn: main ? null : { ...threadSpawn(meta), prompt: reading.firstWords },
    spawned: records.flatMap(spawnedIn),
    is_spawn_evidence: isSpawnEvidence(records),
    title: reading.title,
    first_at: times.reduce<string | null>(earlier, null),
    last_at: times.reduce<string | null>((one, other) => latest(other, one), null),
    projected_records: reading.tally.projected,
    omitted: reading.tally.omitted,
  };
}

/** The state of reading a file, line by line. */
type Reading = {
  builder: TranscriptBuilder;
  tally: Tally;
  thread: string; // of the file; ''
  fork: CodexFork | null; // null: the thread was not forked from another
  main: boolean; // the main thread's file
  isOwnFile: boolean; // false: it was uploaded under another session's name
  model: string;
  firstWords: string;
  title: TranscriptReading['title'];
  open: OpenAnswer | null;
  awaitingUsage: TranscriptCall | null; // the last call, while its usage is unknown
  total: Fields | null; // the last running total
  prompts: number[]; // the length of the history before each message of a person
  hasUsageRecords: boolean; // so far: totals say the same again
};

/** The items of the model's answer so far; the client's next message ends the answer, if nothing before does. */
type OpenAnswer = { items: Fields[]; local_id: string; from: string | null; until: string | null };

type RecordPosition = { line: number; at: string | null };

function addRecord(reading: Reading, record: unknown, position: RecordPosition): void {
  const { tally } = reading;
  const raw = fields(record);
  const type = text(raw.type);
  const payload = fields(raw.payload);
  switch (type) {
    case '':
      omit(tally, 'unknown');
      return;
    case 'session_meta':
      tally.projected++;
      return;
    case 'turn_context':
      close(reading, null);
      reading.model = text(payload.model) || reading.model;
      if (text(payload.turn_id) !== '') reading.builder.setTurn(text(payload.turn_id));
      tally.projected++;
      return;
    case 'response_item':
      addItem(reading, raw.payload, position);
      return;
    case 'token_usage_record':
      addUsageRecord(reading, payload, position);
      return;
    case 'compacted':
      addCompacted(reading, payload, position);
      return;
    case 'event_msg':
      addEvent(reading, payload);
      return;
    default:
      omit(tally, type);
      return;
  }
}

/** Whether an item is sent to or by a model; other kinds are the harness's own notes. */
const isSent = (type: string): boolean =>
  /^(?:message|reasoning|agent_message|compaction|compaction_summary|context_compaction|.+_(?:call|output))$/.test(
    type,
  );

function addItem(reading: Reading, item: unknown, { line, at }: RecordPosition): void {
  const { builder, tally } = reading;
  const type = text(fields(item).type);
  const message = readItem(item);
  if (message === null) {
    omit(tally, 'malformed:response_item');
    return;
  }
  if (!isSent(type)) {
    omit(tally, `response_item:${type}`);
    return;
  }
  tally.projected++;
  if (message.role === 'assistant') {
    const local_id = text(fields(item).id) || text(fields(item).call_id) || `line:${line}`;
    reading.open ??= { items: [], local_id, from: at, until: null };
    reading.open.items.push(fields(item));
    if (at !== null) reading.open.until = latest(at, reading.open.until);
    return;
  }
  close(reading, null, isAbort(message) ? 'client_closed' : 'complete');
  const words = message.role === 'user' ? wordsOf(message) : '';
  if (words !== '') reading.prompts.push(builder.length());
  if (reading.firstWords === '') reading.firstWords = words;
  builder.addMessage({ message, injected: '', at });
}

/** Codex tells the model that the turn was aborted, and then notes the event. */
const isAbort = ({ content: [block] }: Message): boolean => block?.text?.startsWith('<turn_aborted>') === true;

const readItem = (item: unknown): Message | null => readable(() => openaiResponses.message(item));

/** The words of a person; '' for what the harness added. */
function wordsOf({ content }: Message): string {
  const words = content
    .flatMap((block) => (block.type === 'text' && block.text ? [block.text] : []))
    .join('\n')
    .trim();
  return /^(?:<(?:environment_context|user_instructions|subagent_notification)>|# AGENTS\.md)/.test(words) ? '' : words;
}

/**
 * Ends the answer that is open.
 * @param used the usage that the provider billed for it, and the response's id
 * @param ending `client_closed`: the turn was aborted while it was open. A call is run once its item is whole, so an answer that ends with
 *   one counts as whole.
 */
function close(
  reading: Reading,
  used: (CodexUsage & { thread: string }) | null,
  ending: Extract<Ending, 'complete' | 'client_closed'> = 'complete',
): void {
  const { open, builder, model, thread, fork, main, isOwnFile } = reading;
  if (!open) return;
  reading.open = null;
  const whole = readable(() => codexReply(open.items, model, used));
  const isBrokenOff = ending !== 'complete' && !text(open.items.at(-1)?.type).endsWith('_call');
  const reply = whole && isBrokenOff ? brokenOff(whole) : whole;
  if (reply === null || reply.content.length === 0) {
    for (const _ of open.items) omit(reading.tally, reply === null ? 'malformed:response_item' : 'message:empty');
    reading.tally.projected -= open.items.length;
    return;
  }
  // A forked thread holds the answers of its origin. For a sub-agent these are in the file of its session's main thread as well.
  const isElsewhere = used !== null && used.thread !== '' && thread !== '' && used.thread !== thread;
  if (isElsewhere && !main) {
    builder.addHistory({ role: 'assistant', content: reply.content });
    return;
  }
  // One that does not name its thread may be of any thread of the chain: all their files name it by the first of them.
  const isInherited = used?.thread ? isElsewhere : fork?.inherits(open.until) === true;
  const { items: _, ...times } = open;
  builder.addAnswer({
    ...{ ...times, local_id: used?.response_id || open.local_id, reply, request_id: '' },
    ending: isBrokenOff ? 'client_closed' : 'complete',
    ...{ thread: used?.thread || fork?.root || thread, is_own: !isInherited && isOwnFile },
  });
  reading.awaitingUsage = reply.usage ? null : (builder.calls.at(-1) ?? null);
}

function addUsageRecord(reading: Reading, payload: Fields, { at }: RecordPosition): void {
  reading.hasUsageRecords = true;
  const usage = isFields(payload.usage) ? payload.usage : null;
  const used = { response_id: text(payload.response_id), usage, thread: text(payload.thread_id) };
  if (reading.open && at !== null) reading.open.until = latest(at, reading.open.until);
  if (reading.open) close(reading, used);
  else if (!addLateUsage(reading, used.usage)) {
    omit(reading.tally, 'token_usage_record');
    return;
  }
  reading.tally.projected++;
}

/** Older builds of Codex only wrote running totals, some of them more than once; a newer one writes one after each usage record. */
function addTokenCount(reading: Reading, payload: Fields): boolean {
  const { last_token_usage, total_token_usage } = fields(payload.info);
  if (reading.hasUsageRecords || !isFields(last_token_usage)) return false;
  if (isFields(total_token_usage) && sameTotal(reading.total, total_token_usage)) return false;
  reading.total = isFields(total_token_usage) ? total_token_usage : null;
  if (!reading.open) return addLateUsage(reading, last_token_usage);
  close(reading, { response_id: '', usage: last_token_usage, thread: '' });
  return true;
}

/** Adds the usage of the last call, which is recorded after the call ended. */
function addLateUsage(reading: Reading, usage: Fields | null): boolean {
  const { awaitingUsage } = reading;
  if (!awaitingUsage || !usage) return false;
  awaitingUsage.reply = withUsage(awaitingUsage.reply, usage);
  reading.awaitingUsage = null;
  return true;
}

function addEvent(reading: Reading, payload: Fields): void {
  const { builder, tally } = reading;
  const type = text(payload.type);
  const isUsed = (() => {
    switch (type) {
      case 'token_count':
        return addTokenCount(reading, payload);
      case 'task_started':
      case 'task_complete':
      case 'turn_aborted':
        close(reading, null, type === 'turn_aborted' ? 'client_closed' : 'complete');
        if (type === 'task_started' && text(payload.turn_id) !== '') builder.setTurn(text(payload.turn_id));
        return true;
      case 'thread_rolled_back':
        close(reading, null);
        return rollBack(reading, payload.num_turns);
      case 'thread_name_updated':
        if (text(payload.thread_name).trim() === '') return false;
        reading.title = { text: text(payload.thread_name).trim(), rank: 4 };
        return true;
      default:
        return activityIn(payload) !== null || spawnedIn({ type: 'event_msg', payload }).length > 0;
    }
  })();
  if (isUsed) tally.projected++;
  else omit(tally, type === '' ? 'malformed:event_msg' : `event_msg:${type}`);
}

function rollBack({ builder, prompts }: Reading, turns: unknown): boolean {
  if (typeof turns !== 'number' || !Number.isInteger(turns) || turns < 1 || prompts.length === 0) return false;
  const [first = 0] = prompts.splice(Math.max(prompts.length - turns, 0));
  builder.truncate(first);
  return true;
}

/** The history is replaced: by what the record holds, else by its summary alone. */
function addCompacted(reading: Reading, payload: Fields, { at }: RecordPosition): void {
  const { builder, tally } = reading;
  close(reading, null);
  const history = Array.isArray(payload.replacement_history) ? payload.replacement_history.map(readItem) : [];
  const summary = text(payload.message);
  const messages = history.filter((message) => message !== null);
  if (messages.length === 0 && summary === '') {
    omit(tally, 'malformed:compacted');
    return;
  }
  tally.projected++;
  reading.prompts = [];
  builder.truncate(0);
  if (messages.length === 0) messages.push({ role: 'user', content: [{ type: 'text', text: summary }] });
  for (const message of messages) {
    if (message.role === 'assistant') builder.addHistory(message);
    else builder.addMessage({ message, injected: '', at });
  }
}
