/** What does a Codex rollout say? Its conversation, how its thread and those it spawned came to be. (Reference sections 4.7 and 4.8.) */
import type { Message } from '../model/bucket.ts';
import type { TranscriptFile } from '../model/transcript.ts';
import { type Fields, fields, isFields, text } from '../provider/json.ts';
import { openaiResponses } from '../provider/openai-responses.ts';
import { activityIn, isSpawnEvidence, spawnedIn, threadSpawn } from './codex-spawns.ts';
import { type CodexUsage, codexReply, sameTotal, withUsage } from './codex-usage.ts';
import type { TranscriptCall, TranscriptReading } from './harness.ts';
import { noTally, omit, type Tally } from './omitted.ts';
import { recordTime } from './record-time.ts';
import { readable } from './transcript-answer.ts';
import { earlier, latest, type Story, story } from './transcript-story.ts';

export function readCodexTranscript(file: TranscriptFile): TranscriptReading {
  const { records, received_at, main } = file;
  const metas = records.map(fields).filter(({ type }) => type === 'session_meta');
  const meta = fields(metas[0]?.payload);
  const reading: Reading = {
    ...{
      told: story(received_at, { joined: false }),
      tally: noTally(),
      ...{ thread: text(meta.id), origin: text(meta.forked_from_id), main },
      isOwnFile: !main || text(meta.id) === file.harness_session_id,
      model: '',
      firstWords: '',
      title: null,
    },
    ...{ open: null, lacking: null, total: null, prompts: [] },
    hasUsageRecords: records.some((record) => fields(record).type === 'token_usage_record'),
  };
  for (const [line, record] of records.entries()) {
    tell(reading, record, { line, at: recordTime(record, received_at) });
  }
  close(reading, null);
  const times = records.map((record) => recordTime(record, received_at)).filter((time) => time !== null);
  return {
    format: 'openai.responses',
    harness_version: text(meta.cli_version),
    cwd: text(meta.cwd),
    git_branch: text(fields(meta.git).branch),
    calls: reading.told.calls,
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

/** What is open while a file is read, line after line. */
type Reading = {
  told: Story;
  tally: Tally;
  thread: string; // of the file; ''
  origin: string; // of which it was forked; ''
  main: boolean; // the main thread's file
  isOwnFile: boolean; // false: it lies under another session's name
  model: string;
  firstWords: string;
  title: TranscriptReading['title'];
  open: OpenAnswer | null;
  lacking: TranscriptCall | null; // the last call, while nothing has told what it used
  total: Fields | null; // the last running total
  prompts: number[]; // how long the history was before each thing that a person said
  hasUsageRecords: boolean;
};

/** Items of the model's, as they come; what the client says next ends the answer, if nothing before does. */
type OpenAnswer = { items: Fields[]; local_id: string; from: string | null; until: string | null };

type Place = { line: number; at: string | null };

function tell(reading: Reading, record: unknown, place: Place): void {
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
      if (text(payload.turn_id) !== '') reading.told.turn(text(payload.turn_id));
      tally.projected++;
      return;
    case 'response_item':
      tellItem(reading, raw.payload, place);
      return;
    case 'token_usage_record':
      tellUsageRecord(reading, payload, place);
      return;
    case 'compacted':
      tellCompacted(reading, payload, place);
      return;
    case 'event_msg':
      tellEvent(reading, payload);
      return;
    default:
      omit(tally, type);
      return;
  }
}

/** Items that a model is sent or sends; other kinds are the harness's own notes. */
const isSent = (type: string): boolean =>
  /^(?:message|reasoning|agent_message|compaction|compaction_summary|context_compaction|.+_(?:call|output))$/.test(
    type,
  );

function tellItem(reading: Reading, item: unknown, { line, at }: Place): void {
  const { told, tally } = reading;
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
  close(reading, null);
  const words = message.role === 'user' ? wordsOf(message) : '';
  if (words !== '') reading.prompts.push(told.length());
  if (reading.firstWords === '') reading.firstWords = words;
  told.say({ message, injected: '', at });
}

const readItem = (item: unknown): Message | null => readable(() => openaiResponses.message(item));

/** What a person said, and not what the harness wraps. */
function wordsOf({ content }: Message): string {
  const said = content
    .flatMap((block) => (block.type === 'text' && block.text ? [block.text] : []))
    .join('\n')
    .trim();
  return /^(?:<(?:environment_context|user_instructions|subagent_notification)>|# AGENTS\.md)/.test(said) ? '' : said;
}

/** Ends the answer that is open. @param used what the provider billed for it, and under which id */
function close(reading: Reading, used: (CodexUsage & { thread: string }) | null): void {
  const { open, told, model, thread, origin, main, isOwnFile } = reading;
  if (!open) return;
  reading.open = null;
  const reply = readable(() => codexReply(open.items, model, used));
  if (reply === null || reply.content.length === 0) {
    for (const _ of open.items) omit(reading.tally, reply === null ? 'malformed:response_item' : 'message:empty');
    reading.tally.projected -= open.items.length;
    return;
  }
  // A thread that was forked off another brings along what was answered there. A sub-agent's is in the file of its session's main thread.
  const isElsewhere = used !== null && used.thread !== '' && thread !== '' && used.thread !== thread;
  if (isElsewhere && !main) {
    told.recall({ role: 'assistant', content: reply.content });
    return;
  }
  const { items: _, ...times } = open;
  told.answer({
    ...{ ...times, local_id: used?.response_id || open.local_id, reply, request_id: '' },
    // Without a word of its thread an answer may be one that the file's origin gave: it is named as it was there.
    ...{ thread: used?.thread || origin || thread, is_own: !isElsewhere && isOwnFile },
  });
  reading.lacking = reply.usage ? null : (told.calls.at(-1) ?? null);
}

function tellUsageRecord(reading: Reading, payload: Fields, { at }: Place): void {
  const usage = isFields(payload.usage) ? payload.usage : null;
  const used = { response_id: text(payload.response_id), usage, thread: text(payload.thread_id) };
  if (reading.open && at !== null) reading.open.until = latest(at, reading.open.until);
  if (reading.open) close(reading, used);
  else if (!useLater(reading, used.usage)) {
    omit(reading.tally, 'token_usage_record');
    return;
  }
  reading.tally.projected++;
}

/** Older files only tell running totals, some of them more than once. */
function tellTokenCount(reading: Reading, payload: Fields): boolean {
  const { last_token_usage, total_token_usage } = fields(payload.info);
  if (reading.hasUsageRecords || !isFields(last_token_usage)) return false;
  if (isFields(total_token_usage) && sameTotal(reading.total, total_token_usage)) return false;
  reading.total = isFields(total_token_usage) ? total_token_usage : null;
  if (!reading.open) return useLater(reading, last_token_usage);
  close(reading, { response_id: '', usage: last_token_usage, thread: '' });
  return true;
}

/** What the last call used, told after it had ended. */
function useLater(reading: Reading, usage: Fields | null): boolean {
  const { lacking } = reading;
  if (!lacking || !usage) return false;
  lacking.reply = withUsage(lacking.reply, usage);
  reading.lacking = null;
  return true;
}

function tellEvent(reading: Reading, payload: Fields): void {
  const { told, tally } = reading;
  const type = text(payload.type);
  const told_something = (() => {
    switch (type) {
      case 'token_count':
        return tellTokenCount(reading, payload);
      case 'task_started':
      case 'task_complete':
      case 'turn_aborted':
        close(reading, null);
        if (type === 'task_started' && text(payload.turn_id) !== '') told.turn(text(payload.turn_id));
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
  if (told_something) tally.projected++;
  else omit(tally, type === '' ? 'malformed:event_msg' : `event_msg:${type}`);
}

function rollBack({ told, prompts }: Reading, turns: unknown): boolean {
  if (typeof turns !== 'number' || !Number.isInteger(turns) || turns < 1 || prompts.length === 0) return false;
  const [first = 0] = prompts.splice(Math.max(prompts.length - turns, 0));
  told.shrink(first);
  return true;
}

/** The history is replaced: by what the record holds, else by its summary alone. */
function tellCompacted(reading: Reading, payload: Fields, { at }: Place): void {
  const { told, tally } = reading;
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
  told.shrink(0);
  if (messages.length === 0) messages.push({ role: 'user', content: [{ type: 'text', text: summary }] });
  for (const message of messages) {
    if (message.role === 'assistant') told.recall(message);
    else told.say({ message, injected: '', at });
  }
}
