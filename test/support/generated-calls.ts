/** Generated sessions as no person would have them: loops, retries, forks, threads, ties in time, odd ids; for property tests of derivation. */
import * as fc from 'fast-check';
import type { ContentBlock } from '../../core/model/content-block.ts';
import {
  type Answer,
  answer,
  assistant,
  type Call,
  injected,
  type SpokenMessage,
  text,
  toolResult,
  toolUse,
  user,
} from './call-turn.ts';

type Step = {
  what: 'prompt' | 'result' | 'retry' | 'context' | 'replay' | 'again';
  conversation: number;
  back: number; // how many calls of the conversation to go back: above 0 it forks
  fails: boolean;
  silent: boolean;
  tools: number;
  sameId: boolean;
  thread: string;
  wait: number;
  model: string;
};

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('prompt', 'result', 'result', 'result', 'retry', 'context', 'replay', 'again'),
  conversation: fc.nat({ max: 2 }),
  back: fc.constantFrom(0, 0, 0, 1, 3),
  fails: fc.constantFrom(false, false, false, true),
  silent: fc.constantFrom(false, false, false, true),
  tools: fc.nat({ max: 2 }),
  sameId: fc.boolean(),
  thread: fc.constantFrom('', '', '', 'sub'),
  wait: fc.constantFrom(0, 0, 0.3, 1, 5),
  model: fc.constantFrom('claude-sonnet-4-5', 'claude-sonnet-4-5', 'llama3.2'),
});

/** The calls of one session, each with an id of its own, in the order in which they were made. */
export const generatedCalls = (size: { minLength?: number; maxLength: number }): fc.Arbitrary<Call[]> =>
  fc.array(step, { minLength: 1, ...size }).map(callsOf);

type MadeCall = { says: SpokenMessage[]; answers: Answer | null };

function callsOf(steps: readonly Step[]): Call[] {
  const conversations: MadeCall[][] = [[], [], []];
  let at = 0;
  return steps.map((each, i) => {
    at += each.wait;
    const conversation = conversations[each.conversation] ?? [];
    const before = conversation.at(-1 - each.back) ?? conversation.at(-1);
    const says = messagesOf(each, before, i);
    const answers = each.fails || each.silent ? null : answerOf(each, i);
    conversation.push({ says, answers });
    return {
      at,
      call_id: `call-${(i * 7919) % 1000}`, // ids do not sort as time does
      raw_turn_id: i + 1,
      thread_id: each.thread,
      says,
      answers,
      ...(each.fails && { status: 529 }),
      ...(each.silent && { status: null, ending: 'client_closed', outcome: 'partial', last_byte_at: null }),
    };
  });
}

function messagesOf({ what }: Step, before: MadeCall | undefined, i: number): SpokenMessage[] {
  if (!before || what === 'prompt') return [...history(before), user(`Question ${i}`)];
  switch (what) {
    case 'result':
      return [...history(before), user(...results(before, i))];
    case 'context':
      return [...history(before), injected('mode-banner', `Plan mode is active ${i}`), user(...results(before, i))];
    case 'replay':
      return [...history(before), user('Old'), assistant(`Older ${i}`), user(...results(before, i))];
    case 'again':
      return history(before);
    case 'retry':
      return before.says;
  }
}

const history = (before: MadeCall | undefined): SpokenMessage[] =>
  before ? [...before.says, ...(before.answers ? [assistant(...before.answers.content)] : [])] : [];

function results(before: MadeCall, i: number): ContentBlock[] {
  const toolUses = before.answers?.content.filter(({ type }) => type === 'tool_use') ?? [];
  return [text(`Result ${i}`), ...toolUses.map((use) => toolResult(use.tool_use_id ?? '', `of ${i}`, i % 3 === 0))];
}

function answerOf({ tools, sameId, model }: Step, i: number): Answer {
  const uses = Array.from({ length: tools }, (_, t) =>
    toolUse(sameId ? 'same\0id' : `${i}-${t}`, 'shell', { cmd: 'ls' }),
  );
  return { ...answer(...(i % 2 === 0 ? [`Answer ${i}`] : []), ...uses), model };
}
