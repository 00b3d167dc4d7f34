/** How do a transcript's messages and answers become calls? Gathered in order, whatever harness wrote them. */
import type { Message } from '../model/bucket.ts';
import type { Reply } from '../model/reply.ts';
import type { TranscriptCall } from './harness.ts';
import { justAfter } from './record-time.ts';

export type StoryMessage = { message: Message; injected: string; at: string | null };
/** `thread`: as the harness names where it was made. */
export type StoryAnswer = {
  local_id: string;
  request_id: string;
  thread: string;
  is_own: boolean;
  reply: Reply;
  from: string | null;
  until: string | null;
};

/** The story so far: what was said since the last answer waits for the next one; without an answer there is no call. */
export type Story = {
  calls: TranscriptCall[];
  say(said: StoryMessage): void;
  /** What was said or answered before this thread began, and goes before what it says. */
  recall(message: Message): void;
  answer(answer: StoryAnswer): void;
  /** The history has shrunk to its first messages: the next call goes on from them. */
  shrink(keeps: number): void;
  /** Messages in the history, what waits for an answer included. */
  length(): number;
  turn(turn_id: string): void;
};

/** @param fallback when nothing has a time @param joined the client sends neighbouring messages of the user's as one */
export function story(fallback: string, { joined }: { joined: boolean }): Story {
  const calls: TranscriptCall[] = [];
  const seen = new Map<string, number>();
  let keeps = 0; // of the history, by default all of it
  let added: (StoryMessage & { recalled: boolean })[] = [];
  let turn_id = '';
  let last: { requested_at: string } | null = null;
  const answers = new Map<string, number>(); // by the thread that gave them

  const put = (said: StoryMessage & { recalled: boolean }) => {
    const before = added.at(-1);
    if (joined && before && joins(before, said)) {
      const content = [...before.message.content, ...said.message.content];
      added[added.length - 1] = { ...before, message: { role: 'user', content }, at: earlier(before.at, said.at) };
    } else added.push(said);
  };

  return {
    calls,
    say: (said) => put({ ...said, recalled: false }),
    recall: (message) => put({ message, injected: '', at: null, recalled: true }),
    shrink: (to) => {
      added = added.slice(0, Math.max(to - keeps, 0));
      keeps = Math.min(keeps, Math.max(to, 0));
    },
    length: () => keeps + added.length,
    turn: (id) => {
      turn_id = id;
    },
    answer({ local_id, request_id, thread, is_own, reply, from, until }) {
      const asked = added.reduce<string | null>((at, said) => earlier(at, said.at), null) ?? from;
      const floor: string | null = last && justAfter(last.requested_at);
      const requested_at = latest(asked ?? floor ?? fallback, floor);
      const times = seen.get(local_id) ?? 0;
      seen.set(local_id, times + 1);
      const position = answers.get(thread) ?? 0;
      answers.set(thread, position + 1);
      calls.push({
        local_id: times === 0 ? local_id : `${local_id}#${times}`, // some runners give all answers one id
        turn_id,
        requested_at,
        ended_at: latest(until ?? requested_at, requested_at),
        keeps,
        added: added.map(({ message, injected }) => ({ message, injected })),
        request_id,
        made: { thread, position },
        is_own,
        reply,
      });
      last = { requested_at };
      keeps += added.length + 1;
      added = [];
    },
  };
}

/** What a person says stays apart from tool results, so that it is seen to be a prompt. */
function joins(before: StoryMessage & { recalled: boolean }, said: StoryMessage & { recalled: boolean }): boolean {
  const plain = before.injected === '' && said.injected === '' && before.recalled === said.recalled;
  const users = before.message.role === 'user' && said.message.role === 'user';
  return plain && users && holdsResults(before.message) === holdsResults(said.message);
}

const holdsResults = ({ content }: Message): boolean => content.some(({ type }) => type === 'tool_result');

export const earlier = (one: string | null, other: string | null): string | null =>
  one !== null && (other === null || one <= other) ? one : other;

export const latest = (one: string, other: string | null): string => (other !== null && other > one ? other : one);
