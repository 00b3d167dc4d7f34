/** Generated sessions of agents that start agents, for property tests: overlapping threads, side calls, compactions, late results. */
import * as fc from 'fast-check';
import { type Anchor, noEvidence, type TranscriptEvidence } from '../../core/derive/evidence.ts';
import { firstWords } from '../../core/derive/first-words.ts';
import type { ContentBlock } from '../../core/model/content-block.ts';
import {
  type Answer,
  answer,
  assistant,
  type Call,
  type SpokenMessage,
  toolResult,
  toolUse,
  user,
} from './call-turn.ts';

type Step = {
  what: 'prompt' | 'work' | 'work' | 'start' | 'check' | 'title' | 'plan' | 'compact' | 'rewind' | 'stray' | 'again';
  pick: number;
  fails: boolean;
  tools: ('Bash' | 'Agent' | 'spawn_agent' | 'ExitPlanMode' | 'TaskCreate')[];
  partly: boolean; // only the first of the pending results is sent
  wait: number;
};

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom(
    ...([
      'prompt',
      'work',
      'work',
      'work',
      'start',
      'start',
      'check',
      'check',
      'title',
      'plan',
      'compact',
      'rewind',
    ] as const),
    ...(['stray', 'again'] as const),
  ),
  pick: fc.nat({ max: 7 }),
  fails: fc.constantFrom(false, false, false, false, true),
  tools: fc.array(fc.constantFrom('Bash', 'Bash', 'Agent', 'Agent', 'spawn_agent', 'ExitPlanMode', 'TaskCreate'), {
    maxLength: 3,
  }),
  partly: fc.boolean(),
  wait: fc.constantFrom(0, 0.1, 0.4, 2),
});

/** How much the evidence has of each thread: its origin, its path, its first words, or nothing. */
const knownOrigins = fc.array(fc.constantFrom('nothing', 'tool', 'path', 'words'), { minLength: 1, maxLength: 6 });

export type GeneratedSession = { calls: Call[]; evidence: TranscriptEvidence };

export const generatedAgents = (size: { minLength?: number; maxLength: number }): fc.Arbitrary<GeneratedSession> =>
  fc
    .tuple(fc.array(step, { minLength: 1, size: 'max', ...size }), knownOrigins)
    .map(([steps, origins]) => sessionOf(steps, origins));

type Conversation = {
  thread: string;
  says: SpokenMessage[];
  before: SpokenMessage[][];
  open: ContentBlock[];
  named: boolean;
};
type Start = { tool: ContentBlock; thread: string };

function sessionOf(steps: readonly Step[], origins: readonly string[]): GeneratedSession {
  const conversations: Conversation[] = [{ thread: '', says: [], before: [], open: [], named: true }];
  const starts: Start[] = [];
  const anchors = new Map<string, Anchor>();
  const prompts = new Map<string, string>();
  let threads = 0;
  let at = 0;

  const call = (
    each: Step,
    i: number,
    conversation: Conversation,
    more: Partial<Call>,
    uses: ContentBlock[] = [],
  ): Call => ({
    at,
    call_id: `call-${(i * 7919) % 1000}`, // ids do not sort as time does
    raw_turn_id: i + 1,
    thread_id: conversation.named ? conversation.thread : '',
    says: conversation.says,
    answers: each.fails ? null : answered(i, uses),
    ...(each.fails && { status: 529 }),
    ...more,
  });
  const goOn = (each: Step, i: number, conversation: Conversation, messages: SpokenMessage[]): Call => {
    const uses = each.fails ? [] : each.tools.map((name, t) => toolOf(name, i, t, threads));
    conversation.before = [...conversation.before.slice(-3), conversation.says];
    conversation.says = [...conversation.says, ...messages];
    const made = call(each, i, conversation, {}, uses);
    if (!each.fails) {
      conversation.says = [...conversation.says, assistant(...answered(i, uses).content)];
      conversation.open = uses;
      for (const tool of uses)
        if (tool.tool_name === 'Agent' || tool.tool_name === 'spawn_agent')
          starts.push({ tool, thread: `t${threads++}` });
    }
    return made;
  };
  const results = (conversation: Conversation, partly: boolean): ContentBlock[] => {
    const closed = conversation.open.slice(0, partly ? 1 : undefined);
    conversation.open = conversation.open.slice(closed.length);
    return closed.map((tool, i) =>
      toolResult(tool.tool_use_id ?? '', resultOf(tool, starts), tool.tool_name === 'Bash' && i % 2 === 1),
    );
  };

  const callOf = (each: Step, i: number): Call => {
    at += each.wait;
    const conversation = conversations[each.pick % conversations.length] ?? (conversations[0] as Conversation);
    const main = conversations[0] as Conversation;
    switch (each.what) {
      case 'prompt':
        return goOn(each, i, main, [user(...results(main, false), `Question ${i}`)]);
      case 'work':
        return goOn(each, i, conversation, [
          user(...results(conversation, each.partly), ...(each.partly ? [`and ${i}`] : [])),
        ]);
      case 'start': {
        const start = starts.splice(each.pick % Math.max(1, starts.length), 1)[0];
        const thread = start?.thread ?? `stray${i}`;
        const how = origins[each.pick % origins.length];
        const words = String((start?.tool.tool_input as { prompt?: string } | undefined)?.prompt ?? `Alone ${i}`);
        const path = `/root/${(start?.tool.tool_input as { task_name?: string } | undefined)?.task_name ?? thread}`;
        if (how === 'words') prompts.set(firstWords(words), thread);
        if (how === 'tool' || how === 'path')
          anchors.set(thread, {
            thread_id: thread,
            tool_use_id: how === 'tool' ? (start?.tool.tool_use_id ?? '') : '',
            path: how === 'path' ? path : '',
            label: 'worker',
            description: '',
          });
        const fresh: Conversation = { thread, says: [], before: [], open: [], named: how !== 'words' };
        conversations.push(fresh);
        return goOn(each, i, fresh, [user(words)]);
      }
      case 'check': {
        const waiting = conversations.filter(({ open }) => open.some(({ tool_name }) => tool_name === 'Bash'));
        const judged = waiting[each.pick % Math.max(1, waiting.length)]?.open.find(
          ({ tool_name }) => tool_name === 'Bash',
        );
        const words = judged ? (judged.tool_input as { command: string }).command : `command of nobody ${i}`;
        const stage = each.partly ? 'stage2' : 'stage1';
        const verdict = answer(each.partly ? '<thinking>Hm</thinking><block>no</block>' : '<block>yes</block>');
        return call(each, i, conversation, {
          ...{ kind: `offshoot:permission-check:${stage}`, judged: `bash ${words}`, says: [user(`Judge ${i}`)] },
          ...(each.fails ? {} : { answers: verdict }),
        });
      }
      case 'title':
        return call(each, i, main, {
          ...{ kind: 'offshoot:title-gen', says: [user(`Title ${i}`)] },
          ...(each.fails ? {} : { answers: answer(JSON.stringify({ title: `Story ${i}` })) }),
        });
      case 'plan':
        return call(each, i, main, { kind: 'offshoot:plan-name-gen', says: [user(`<conversation> ${i}`)] });
      case 'compact': {
        const made = call(each, i, conversation, {
          kind: 'offshoot:compaction',
          says: [...conversation.says, user(...results(conversation, each.partly), 'Summarise')],
        });
        if (!each.fails) Object.assign(conversation, { says: [user(`Summary of it all ${i}`)], open: [], before: [] });
        return made;
      }
      case 'rewind':
        conversation.says =
          conversation.before[each.pick % Math.max(1, conversation.before.length)] ?? conversation.says;
        return goOn(each, i, conversation, [user(`Rather ${i}`)]);
      case 'stray':
        return call(
          each,
          i,
          { ...conversation, thread: `lone${each.pick}`, named: true },
          { says: [user(`Lone ${each.pick}`)] },
        );
      case 'again':
        return call(each, i, conversation, {});
    }
  };
  return {
    calls: steps.map(callOf),
    evidence: { ...noEvidence, anchors, prompts, title: steps.length % 2 === 0 ? 'Told by a file' : null },
  };
}

function toolOf(name: Step['tools'][0], i: number, t: number, threads: number): ContentBlock {
  const id = `${i}-${t}`;
  switch (name) {
    case 'Bash':
      return toolUse(id, 'Bash', { command: `step ${i % 4} of many` });
    case 'Agent':
      return toolUse(id, 'Agent', {
        prompt: i % 4 === 0 ? 'Do it' : `Do ${id}`,
        ...(t % 2 === 0 ? { description: 'Told' } : {}),
      });
    case 'spawn_agent':
      return toolUse(id, 'spawn_agent', { message: `Send ${id}`, task_name: `task${(threads + t) % 9}` });
    case 'ExitPlanMode':
      return toolUse(id, 'ExitPlanMode', { plan: 'Do it' });
    case 'TaskCreate':
      return toolUse(id, 'TaskCreate', { subject: `Task ${id}` });
  }
}

/** Some results name the thread, some its path, some nothing. */
function resultOf({ tool_name, tool_use_id, tool_input }: ContentBlock, starts: readonly Start[]): string {
  const start = starts.find(({ tool }) => tool.tool_use_id === tool_use_id);
  const number = /^(\d+)-/.exec(tool_use_id ?? '')?.[1] ?? '1';
  if (tool_name === 'Agent')
    return Number(number) % 3 === 0 ? 'Done' : `Done\nagentId: ${start?.thread ?? `t${number}`}`;
  if (tool_name === 'spawn_agent')
    return JSON.stringify({ task_name: `/root/${(tool_input as { task_name: string }).task_name}` });
  return tool_name === 'TaskCreate' ? `Task #${number} created` : 'done';
}

const answered = (i: number, uses: ContentBlock[]): Answer => ({
  ...answer(...(i % 2 === 0 || uses.length === 0 ? [`Answer ${i}`] : []), ...uses),
  model: i % 5 === 0 ? 'llama3.2' : 'claude-sonnet-4-5',
});
