/** Builds the calls of a transcript from its messages and answers, added in order, whatever harness wrote them. */
import type { Message } from '../model/bucket.ts';
import type { Ending } from '../model/coverage.ts';
import type { Reply } from '../model/reply.ts';
import type { FormatId } from '../provider/formats.ts';
import type { TranscriptCall } from './harness.ts';
import { justAfter } from './record-time.ts';

export type TranscriptMessage = { message: Message; injected: string; at: string | null };
/** `thread`: where the answer was made, as the harness names it. */
export type TranscriptAnswer = {
  local_id: string;
  request_id: string;
  thread: string;
  is_own: boolean;
  reply: Reply;
  ending: Ending;
  format?: FormatId; // where the file says it of each answer
  from: string | null;
  until: string | null;
};

/** The calls so far. Messages since the last answer wait for the next one; without an answer there is no call. */
export type TranscriptBuilder = {
  calls: TranscriptCall[];
  addMessage(entry: TranscriptMessage): void;
  /** Adds a message from before this thread began, which precedes its own messages. */
  addHistory(message: Message): void;
  addAnswer(answer: TranscriptAnswer): void;
  /** Cuts the history to its first messages, which the next call continues. */
  truncate(keeps: number): void;
  /** The number of messages in the history, including those that wait for an answer. */
  length(): number;
  setTurn(turn_id: string): void;
};

/** @param fallback when nothing has a time @param joined the client sends neighbouring messages of the user's as one */
export function openTranscriptBuilder(fallback: string, { joined }: { joined: boolean }): TranscriptBuilder {
  const calls: TranscriptCall[] = [];
  const seen = new Map<string, number>();
  let keeps = 0; // of the history, by default all of it
  let added: (TranscriptMessage & { recalled: boolean })[] = [];
  let turn_id = '';
  let last: { requested_at: string } | null = null;
  const answers = new Map<string, number>(); // by the thread that gave them

  const put = (entry: TranscriptMessage & { recalled: boolean }) => {
    const before = added.at(-1);
    if (joined && before && joins(before, entry)) {
      const content = [...before.message.content, ...entry.message.content];
      added[added.length - 1] = { ...before, message: { role: 'user', content }, at: earlier(before.at, entry.at) };
    } else added.push(entry);
  };

  return {
    calls,
    addMessage: (entry) => put({ ...entry, recalled: false }),
    addHistory: (message) => put({ message, injected: '', at: null, recalled: true }),
    truncate: (to) => {
      added = added.slice(0, Math.max(to - keeps, 0));
      keeps = Math.min(keeps, Math.max(to, 0));
    },
    length: () => keeps + added.length,
    setTurn: (id) => {
      turn_id = id;
    },
    addAnswer({ local_id, request_id, thread, is_own, reply, ending, format, from, until }) {
      const earliest = added.reduce<string | null>((at, entry) => earlier(at, entry.at), null) ?? from;
      const floor: string | null = last && justAfter(last.requested_at);
      const requested_at = latest(earliest ?? floor ?? fallback, floor);
      const times = seen.get(local_id) ?? 0;
      seen.set(local_id, times + 1);
      const position = answers.get(thread) ?? 0;
      answers.set(thread, position + 1);
      calls.push({
        local_id: times === 0 ? local_id : `${local_id}#${times}`, // some runners give all answers one id
        turn_id,
        requested_at,
        ended_at: latest(until ?? requested_at, requested_at),
        ending,
        keeps,
        added: added.map(({ message, injected }) => ({ message, injected })),
        request_id,
        made: { thread, position },
        is_own,
        reply,
        ...(format !== undefined && { format }),
      });
      last = { requested_at };
      keeps += added.length + 1;
      added = [];
    },
  };
}

/** Whether two messages become one. A person's message stays apart from tool results, so that it is recognised as a prompt. */
function joins(
  before: TranscriptMessage & { recalled: boolean },
  entry: TranscriptMessage & { recalled: boolean },
): boolean {
  const plain = before.injected === '' && entry.injected === '' && before.recalled === entry.recalled;
  const users = before.message.role === 'user' && entry.message.role === 'user';
  return plain && users && holdsResults(before.message) === holdsResults(entry.message);
}

const holdsResults = ({ content }: Message): boolean => content.some(({ type }) => type === 'tool_result');

export const earlier = (one: string | null, other: string | null): string | null =>
  one !== null && (other === null || one <= other) ? one : other;

export const latest = (one: string, other: string | null): string => (other !== null && other > one ? other : one);
