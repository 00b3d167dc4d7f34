/** Reads a transcript of opencode: its session, and its messages in order, each with its parts, as `opencode export` writes them. */
import type { ContentBlock } from '../model/content-block.ts';
import type { TranscriptFile } from '../model/transcript.ts';
import { type Fields, fields, isFields, text, tokens } from '../provider/json.ts';
import type { TranscriptReading } from './harness.ts';
import { noTally, omit, type Tally } from './omitted.ts';
import { recordTime } from './record-time.ts';
import {
  formatOfProvider,
  isAnswer,
  objectsIn,
  recordedReply,
  recordedUsage,
  toolResult,
  toolUse,
} from './recorded-answer.ts';
import { brokenOff, readable } from './transcript-answer.ts';
import { earlier, latest, openTranscriptBuilder, type TranscriptBuilder } from './transcript-builder.ts';

export function readOpencodeTranscript(file: TranscriptFile): TranscriptReading {
  const { records, received_at } = file;
  const tally = noTally();
  const builder = openTranscriptBuilder(received_at, { joined: false });
  const session = fields(records.map(fields).find(({ type }) => type === 'session')?.info);
  if (text(session.id) !== '') tally.projected++;
  let provider = '';
  for (const record of records) {
    const { type, info, parts } = fields(record);
    if (type === 'session') continue;
    if (type !== 'message' || !isFields(info)) omit(tally, text(type) || 'unknown');
    else if (addMessage({ info, parts: objectsIn(parts), at: recordTime(record, received_at) }, builder, tally))
      tally.projected++;
    if (isFields(info)) provider ||= text(info.providerID) || text(fields(info.model).providerID);
  }
  const times = records.map((record) => recordTime(record, received_at)).filter((at) => at !== null);
  const title = text(session.title).trim();
  return {
    format: formatOfProvider(provider),
    harness_version: text(session.version),
    cwd: text(session.directory),
    git_branch: '',
    calls: builder.calls,
    beside: [],
    spawn: null,
    spawned: [],
    is_spawn_evidence: true,
    // As long as a session has no title of its own, it is called after its time.
    title: title === '' || /^(?:New|Child) session - \d/.test(title) ? null : { text: title, rank: 3 },
    first_at: times.reduce<string | null>(earlier, null),
    last_at: times.reduce<string | null>((one, other) => latest(other, one), null),
    projected_records: tally.projected,
    omitted: tally.omitted,
  };
}

type StoredMessage = { info: Fields; parts: Fields[]; at: string | null };

function addMessage({ info, parts, at }: StoredMessage, builder: TranscriptBuilder, tally: Tally): boolean {
  if (info.role === 'user') {
    const content = parts.flatMap(sentBlock);
    // What the harness adds to a person's message is marked; a summary of what was before begins the conversation anew.
    if (parts.some(({ type }) => type === 'compaction')) builder.truncate(0);
    if (content.length === 0) {
      omit(tally, 'message:user');
      return false;
    }
    builder.setTurn(text(info.id));
    builder.addMessage({ message: { role: 'user', content }, injected: '', at });
    return true;
  }
  const content = info.role === 'assistant' ? readable(() => parts.flatMap(answerBlock)) : null;
  if (content === null) {
    omit(tally, `message:${text(info.role)}`);
    return false;
  }
  const used = isFields(info.tokens) ? info.tokens : null;
  const reply = recordedReply({
    ...{ content, model: text(info.modelID), response_id: '', usage: used && usageOf(used), usage_verbatim: used },
    stop_reason: STOP_REASONS[text(info.finish)] ?? '',
  });
  if (!isAnswer(reply)) {
    omit(tally, 'message:empty');
    return false;
  }
  const isBroken = text(fields(info.error).name) === 'MessageAbortedError';
  builder.addAnswer({
    ...{ local_id: text(info.id), request_id: '', thread: `opencode ${text(info.id)}`, is_own: true },
    reply: isBroken ? brokenOff(reply) : reply,
    ...(text(info.providerID) !== '' && { format: formatOfProvider(text(info.providerID)) }),
    ending: isBroken ? 'client_closed' : 'complete',
    ...{ from: at, until: completedAt(info) ?? at },
  });
  const results = parts.flatMap(resultBlock);
  if (results.length > 0) builder.addMessage({ message: { role: 'tool', content: results }, injected: '', at: null });
  return true;
}

/** The output is counted without the reasoning. */
function usageOf(used: Fields) {
  const { read, write } = fields(used.cache);
  const reasoning = tokens(used.reasoning) ?? 0;
  const output = (tokens(used.output) ?? 0) + reasoning;
  return recordedUsage({ input: used.input, output, cacheRead: read, cacheWrite: write, reasoning });
}

/** Its words for why an answer ended, in those of a provider. */
const STOP_REASONS: Record<string, string> = {
  ...{ stop: 'stop', length: 'length', 'tool-calls': 'tool_calls', 'content-filter': 'content_filter' },
};

function completedAt({ time }: Fields): string | null {
  const { completed } = fields(time);
  return typeof completed === 'number' && completed > 0 && completed < MAX_TIME
    ? `${new Date(completed).toISOString().slice(0, -1)}000Z`
    : null;
}
const MAX_TIME = Date.UTC(9_999, 0);

function sentBlock(part: Fields): ContentBlock[] {
  if (part.type === 'text' && text(part.text) !== '') return [{ type: 'text', text: text(part.text) }];
  const [, media_type = '', image_base64 = ''] = /^data:([^;,]+);base64,(.+)$/s.exec(text(part.url)) ?? [];
  return part.type === 'file' && media_type.startsWith('image/') ? [{ type: 'image', image_base64, media_type }] : [];
}

function answerBlock(part: Fields): ContentBlock[] {
  switch (part.type) {
    case 'text':
      return text(part.text) === '' ? [] : [{ type: 'text', text: text(part.text) }];
    case 'reasoning':
      return text(part.text) === '' ? [] : [{ type: 'thinking', thinking: text(part.text) }];
    case 'tool':
      return [toolUse(text(part.callID), text(part.tool), fields(part.state).input)];
    default:
      return [];
  }
}

function resultBlock({ type, callID, state }: Fields): ContentBlock[] {
  if (type !== 'tool') return [];
  const { status, output, error } = fields(state);
  if (status !== 'completed' && status !== 'error') return [];
  return [toolResult(text(callID), status === 'error' ? text(error) : text(output), status === 'error')];
}
