/** Reads a transcript of Gemini CLI: messages, each written again as it grows, with notes of what was taken back or replaced. */

import type { Message } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { TranscriptFile } from '../model/transcript.ts';
import { formatById } from '../provider/formats.ts';
import { type Fields, fields, isFields, text, tokens } from '../provider/json.ts';
import type { TranscriptReading } from './harness.ts';
import { noTally, omit, type Tally } from './omitted.ts';
import { recordTime } from './record-time.ts';
import { isAnswer, objectsIn, recordedReply, recordedUsage } from './recorded-answer.ts';
import { readable } from './transcript-answer.ts';
import { earlier, latest, openTranscriptBuilder, type TranscriptBuilder } from './transcript-builder.ts';

const FORMAT = 'gemini.generate';

export function readGeminiTranscript(file: TranscriptFile): TranscriptReading {
  const { records, received_at, main } = file;
  const tally = noTally();
  const newest = newestById(records);
  const reading: Reading = {
    ...{ tally, newest, builder: openTranscriptBuilder(received_at, { joined: false }), at: new Map() },
    ...{ resultIds: sentResults(newest.values()), firstWords: '', received_at },
  };
  for (const record of records) addRecord(reading, record);
  const messages = [...newest.values()];
  const times = [...records, ...messages].map((one) => recordTime(one, received_at)).filter((at) => at !== null);
  const directories = records.map((record) => fields(record).directories).find(Array.isArray);
  return {
    format: FORMAT,
    harness_version: '',
    cwd: text(directories?.[0]) || workspaceIn(messages),
    git_branch: '',
    calls: reading.builder.calls,
    beside: [],
    spawn: main ? null : { tool_use_id: '', path: '', label: '', description: '', prompt: reading.firstWords },
    spawned: [],
    is_spawn_evidence: true,
    title: titleIn(records),
    first_at: times.reduce<string | null>(earlier, null),
    last_at: times.reduce<string | null>((one, other) => latest(other, one), null),
    projected_records: tally.projected,
    omitted: tally.omitted,
  };
}

type Reading = {
  tally: Tally;
  /** Each message as it was written last. */
  newest: ReadonlyMap<string, Fields>;
  builder: TranscriptBuilder;
  /** The length of the history before each message that was added. */
  at: Map<string, number>;
  /** Of the tool calls whose results are in a message of their own. */
  resultIds: ReadonlySet<string>;
  firstWords: string;
  received_at: string;
};

const isMessage = (value: Fields): boolean => text(value.id) !== '' && typeof value.type === 'string';

/** Another harness's records may name a session, but no project by its hash. */
const isSession = ({ sessionId, projectHash }: Fields): boolean => text(sessionId) !== '' && text(projectHash) !== '';

/** A note replaces what the conversation holds by messages of its own: the beginning of a session, and what a compression leaves. */
const replacedBy = (record: Fields): Fields[] | null => {
  const { messages } = fields(record.$set ?? (isSession(record) ? record : {}));
  return Array.isArray(messages) ? objectsIn(messages).filter(isMessage) : null;
};

function newestById(records: readonly unknown[]): Map<string, Fields> {
  const newest = new Map<string, Fields>();
  for (const raw of records.map(fields))
    for (const message of isMessage(raw) ? [raw] : (replacedBy(raw) ?? [])) newest.set(text(message.id), message);
  return newest;
}

function sentResults(messages: Iterable<Fields>): Set<string> {
  const ids = new Set<string>();
  for (const { content } of messages)
    for (const part of objectsIn(content)) {
      const id = text(fields(part.functionResponse).id);
      if (id !== '') ids.add(id);
    }
  return ids;
}

function addRecord(reading: Reading, record: unknown): void {
  const { builder, tally, at } = reading;
  const raw = fields(record);
  const replaced = isMessage(raw) ? null : replacedBy(raw);
  if (isMessage(raw)) {
    if (at.has(text(raw.id)))
      tally.projected++; // an earlier one stands for it, as it was written last
    else addMessage(reading, raw);
  } else if (typeof raw.$rewindTo === 'string') {
    builder.truncate(at.get(raw.$rewindTo) ?? 0);
    tally.projected++;
  } else if (replaced) {
    builder.truncate(0);
    for (const message of replaced) addMessage(reading, message);
    tally.projected++;
  } else if (isFields(raw.$set) || isSession(raw)) tally.projected++;
  else omit(tally, text(raw.type) || 'unknown');
}

function addMessage(reading: Reading, raw: Fields): void {
  const { newest, builder, tally, at, received_at } = reading;
  const id = text(raw.id);
  const message = newest.get(id) ?? raw;
  const time = recordTime(message, received_at);
  const isKnown = at.has(id);
  at.set(id, builder.length());
  if (message.type === 'gemini') {
    const answer = answerOf(message);
    if (answer === null || !isAnswer(answer)) omit(tally, answer === null ? 'malformed:gemini' : 'message:empty');
    else if (isKnown) builder.addHistory({ role: 'assistant', content: answer.content });
    else {
      const times = { from: time, until: time };
      const made = { local_id: id, request_id: '', thread: `gemini ${id}`, is_own: true };
      builder.addAnswer({ ...made, ...times, reply: answer, ending: 'complete' });
    }
    addResults(reading, message, time);
    if (answer !== null) tally.projected++;
    return;
  }
  const sent = message.type === 'user' ? sentMessage(message.content) : null;
  if (sent === null || sent.content.length === 0) {
    omit(tally, text(message.type));
    return;
  }
  tally.projected++;
  const words = sent.content.flatMap((block) => (block.type === 'text' && block.text ? [block.text] : [])).join('\n');
  if (words !== '' && !words.startsWith('<session_context>')) {
    builder.setTurn(id);
    if (reading.firstWords === '') reading.firstWords = words.trim();
  }
  if (isKnown) builder.addHistory(sent);
  else builder.addMessage({ message: sent, injected: '', at: time });
}

const partsOf = (content: unknown): unknown[] =>
  (Array.isArray(content) ? content : [content]).map((part) => (typeof part === 'string' ? { text: part } : part));

const sentMessage = (content: unknown): Message | null =>
  readable(() => formatById(FORMAT).message({ role: 'user', parts: partsOf(content) }));

function answerOf(message: Fields) {
  const thoughts = objectsIn(message.thoughts).map(({ subject, description }) => ({
    thought: true,
    text: [text(subject), text(description)].filter((words) => words !== '').join('\n'),
  }));
  const calls = objectsIn(message.toolCalls).map(({ id, name, args }) => ({ functionCall: { id, name, args } }));
  const parts = [...thoughts, ...partsOf(message.content ?? ''), ...calls];
  const content = readable((): ContentBlock[] => formatById(FORMAT).message({ role: 'model', parts }).content);
  if (content === null) return null;
  const used = isFields(message.tokens) ? message.tokens : null;
  const count = (name: string) => tokens(used?.[name]) ?? 0;
  return recordedReply({
    ...{ content, model: text(message.model), response_id: '', stop_reason: calls.length > 0 ? '' : 'STOP' },
    usage:
      used &&
      recordedUsage({
        input: Math.max(count('input') - count('cached'), 0) + count('tool'),
        output: count('output') + count('thoughts'),
        ...{ cacheRead: count('cached'), cacheWrite: 0, reasoning: count('thoughts') },
      }),
    usage_verbatim: used,
  });
}

/** Older versions note the results of tools with their calls alone. */
function addResults({ builder, resultIds }: Reading, message: Fields, at: string | null): void {
  const parts = objectsIn(message.toolCalls)
    .filter(({ id }) => !resultIds.has(text(id)))
    .flatMap(({ result }) => partsOf(result ?? []))
    .filter(isFields);
  const results = parts.length === 0 ? null : sentMessage(parts);
  if (results && results.content.length > 0) builder.addMessage({ message: results, injected: '', at });
}

function titleIn(records: readonly unknown[]): TranscriptReading['title'] {
  const summaries = records.map((record) => text(fields(fields(record).$set ?? record).summary).trim());
  const summary = summaries.findLast((words) => words !== '');
  return summary === undefined ? null : { text: summary, rank: 2 };
}

/** The folder that the first message names. */
function workspaceIn(messages: readonly Fields[]): string {
  const [first] = messages;
  const words = objectsIn(first?.content)
    .map((part) => text(part.text))
    .join('');
  return /\*\*Workspace Directories:\*\*\n {2}- (.+)/.exec(words)?.[1] ?? '';
}
