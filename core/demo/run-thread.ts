/** A thread of a run: one line of conversation, written down step by step as Claude Code sends it. Time goes on by what each step takes. */

import {
  type AnthropicBlock,
  type AnthropicMessage,
  CACHED,
  cachedUpTo,
  errorBody,
  messageStream,
  signature,
} from './anthropic-wire.ts';
import type { PromptCache } from './prompt-cache.ts';
import type { DemoTool, DemoUsage, ToolUse } from './script.ts';
import { tokensIn } from './tokens.ts';

export type RunOptions = {
  slug: string; // part of every id
  minutes_ago: number;
  cwd: string;
  model: string;
  system: string;
  tools: readonly DemoTool[];
  /** The history of another run from which this one goes on. */
  from?: readonly AnthropicMessage[];
};

/** `at`, `seconds`: since the run's first call, and how long it took. */
export type RunCall = {
  thread_id: string;
  at: number;
  seconds: number;
  status: number;
  request: Record<string, unknown>;
  body: (id: string) => string;
};

/** `check`: a permission check judges it before it runs; `yes` blocks it, and its result says why. */
export type RunTool = ToolUse & { check?: 'yes' | 'no'; image?: string };

/** A sub-agent to be started; its answers go to the thread of its id. */
export type AgentTask = { id: string; type: string; description: string; prompt: string };

export type RunThread = {
  /** A person writes, so many seconds after the last thing that happened. @param context what the harness puts before their words */
  person(text: string, after?: number, context?: string): RunThread;
  /** The model answers. With tools, their results are in the next request. */
  answers(text: string, uses?: readonly RunTool[], thinking?: string): RunThread;
  /** The provider refuses, and the client waits before it sends the same again. */
  refused(status: number, type: string, message: string): RunThread;
  /** The connection breaks in the middle of an answer, which the client drops. */
  cutOff(text: string): RunThread;
  /** A call beside the conversation: a small model, no tools. */
  beside(call: { system: string; text: string; answer: string; max_tokens: number }): RunThread;
  /** Starts sub-agents with one answer. They run until `finished` is called. */
  starts(text: string, tasks: readonly AgentTask[]): RunThread[];
  /** The sub-agents have ended: what they reported last is the result of the tools that started them. */
  finished(): RunThread;
  /** The harness has the conversation summarised, and goes on from the summary alone. */
  compacts(summary: string): RunThread;
  /** From now on the client declares these tools. */
  declares(tools: readonly DemoTool[]): RunThread;
  /** From now on the client uses this model. */
  uses(model: string): RunThread;
  /** Of this moment, for a run that goes on from here. */
  history(): AnthropicMessage[];
  /** Seconds since the first call of the run. */
  now(): number;
  lastText(): string;
};

export type ThreadOptions = { id: string; system: string; at: number; history?: readonly AnthropicMessage[] };

const SMALL = 'claude-haiku-4-5-20251001';
const TOKENS_PER_SECOND = 70;
const SUB_AGENT =
  'You are a Claude agent, started by another agent for one task. Report what you found, and nothing else.';
const MONITOR =
  'You are a security monitor for autonomous AI coding agents. You see what an agent is about to do, and decide whether it must be ' +
  'stopped: answer with <block>yes</block> or <block>no</block>.';
const SUMMARISE =
  'Your task is to create a detailed summary of the conversation so far, paying close attention to what was asked for and what was ' +
  'done. Write an analysis in <analysis> tags, then the summary in <summary> tags, from Primary Request and Intent to Current Work.';
const CONTINUED =
  'This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:';

/** @param record takes each call as it is made */
export function openThread(
  run: RunOptions & { record(call: RunCall): void },
  cache: PromptCache,
  { id, system, at: start, history = [] }: ThreadOptions,
): RunThread {
  const messages: AnthropicMessage[] = structuredClone([...history]);
  let [at, model, tools] = [start, run.model, run.tools];
  let answered = messages.filter(({ role }) => role === 'assistant').length;
  let lastText = '';
  let pending: AnthropicBlock[] = []; // results of tools, for the next message
  let agents: { id: string; tool_use_id: string; thread: RunThread }[] = [];

  const toolId = (n: number, i: number) =>
    `toolu_demo_${run.slug.replaceAll('-', '_')}_${id && `${id}_`}${n}${'abcdefgh'[i] ?? i}`;
  const metadata = { user_id: JSON.stringify({ session_id: `demo-${run.slug}` }) };

  /** Adds to the person's side; what was pending goes first. */
  const add = (content: AnthropicBlock[]) => {
    const whole = [...pending, ...content];
    pending = [];
    const last = messages.at(-1);
    if (whole.length > 0 && last?.role === 'user') last.content.push(...whole);
    else if (whole.length > 0) messages.push({ role: 'user', content: whole });
  };

  /** Sends the conversation as it stands. */
  const send = (
    blocks: readonly AnthropicBlock[],
    answer: (spent: DemoUsage, call: string) => string,
    status = 200,
  ) => {
    add([]);
    const declared = tools.map(({ name, description, parameters }) => ({
      name,
      description,
      input_schema: parameters,
    }));
    const parts = [...declared, system, ...messages.flatMap(({ content }) => content)].map((part) =>
      JSON.stringify(part),
    );
    const reasoning = tokensIn(String(blocks.find(({ type }) => type === 'thinking')?.thinking ?? ''));
    const output = status === 200 ? tokensIn(JSON.stringify(blocks)) + 8 : 0;
    const spent = { ...cache.send(model, parts, at, status === 200), output, reasoning };
    const request = {
      ...{ model, max_tokens: 32_000, stream: true, thinking: { type: 'adaptive' } },
      system: [{ type: 'text', text: system, cache_control: CACHED }],
      tools: declared,
      messages: cachedUpTo(structuredClone(messages)),
      metadata,
    };
    const seconds = status === 200 ? round(0.9 + output / TOKENS_PER_SECOND) : 0.4;
    run.record({ thread_id: id, at, seconds, status, request, body: (call) => answer(spent, call) });
    at += seconds;
  };

  const streams = (blocks: AnthropicBlock[]) => {
    const answering = model;
    return (spent: DemoUsage, call: string) => messageStream({ id: call, model: answering, spent }, blocks);
  };

  /** One answer of the model, which becomes part of the conversation. */
  const reply = (text: string, uses: readonly Pick<ToolUse, 'tool' | 'input'>[], thinking: string): string[] => {
    const n = ++answered;
    const ids = uses.map((_, i) => toolId(n, i));
    const blocks: AnthropicBlock[] = [
      ...(thinking ? [{ type: 'thinking', thinking, signature: signature(run.slug, n) }] : []),
      ...(text ? [{ type: 'text', text }] : []),
      ...uses.map(({ tool, input }, i) => ({ type: 'tool_use', id: ids[i], name: tool, input })),
    ];
    send(blocks, streams(blocks));
    messages.push({ role: 'assistant', content: blocks });
    lastText = text;
    return ids;
  };

  const thread: RunThread = {
    person(text, after = 30, context = '') {
      at += messages.length > 0 ? after : 0;
      const words = [...(context ? [context] : []), text].map((each) => ({ type: 'text', text: each }));
      add(words);
      return thread;
    },
    answers(text, uses = [], thinking = '') {
      reply(text, uses, thinking).forEach((tool_use_id, i) => {
        const used = uses[i];
        if (!used) return;
        if (used.check) {
          const transcript = `<transcript>\n${used.tool} ${Object.values(used.input)[0]}\n</transcript>\nErr on the side of blocking.`;
          thread.beside({ system: MONITOR, text: transcript, answer: `<block>${used.check}</block>`, max_tokens: 64 });
        }
        at += used.check === 'yes' ? 0 : used.seconds;
        const content = used.image
          ? [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: used.image } }]
          : used.result;
        pending.push({ type: 'tool_result', tool_use_id, content, ...(used.failed && { is_error: true }) });
      });
      return thread;
    },
    refused(status, type, message) {
      send([], (_, call) => errorBody(call, type, message), status);
      at += 2;
      return thread;
    },
    cutOff(text) {
      const blocks = [{ type: 'text', text }];
      const whole = streams(blocks);
      send(blocks, (spent, call) => whole(spent, call).split('event: content_block_stop')[0] ?? '');
      return thread;
    },
    beside({ system: instructions, text, answer, max_tokens }) {
      const spent = { input: tokensIn(instructions + text), cached: 0, output: tokensIn(answer) + 4, reasoning: 0 };
      const request = {
        ...{ model: SMALL, max_tokens, stream: true, metadata },
        system: [{ type: 'text', text: instructions }],
        messages: [{ role: 'user', content: [{ type: 'text', text }] }],
      };
      const body = (call: string) => messageStream({ id: call, model: SMALL, spent }, [{ type: 'text', text: answer }]);
      run.record({ thread_id: id, at, seconds: 0.6, status: 200, request, body });
      at += 0.6;
      return thread;
    },
    starts(text, tasks) {
      const uses = tasks.map(({ type, description, prompt }) => ({
        tool: 'Agent',
        input: { subagent_type: type, description, prompt },
      }));
      const ids = reply(text, uses, '');
      return tasks.map((task, i) => {
        const started = openThread(run, cache, { id: task.id, system: SUB_AGENT, at: round(at + 0.2 + i * 0.05) });
        agents.push({ id: task.id, tool_use_id: ids[i] ?? '', thread: started });
        return started.person(task.prompt);
      });
    },
    finished() {
      for (const { id: agentId, tool_use_id, thread: ended } of agents) {
        pending.push({ type: 'tool_result', tool_use_id, content: `${ended.lastText()}\nagentId: ${agentId}` });
        at = round(Math.max(at, ended.now() + 0.3));
      }
      agents = [];
      return thread;
    },
    compacts(summary) {
      add([{ type: 'text', text: SUMMARISE }]);
      const answer = `<analysis>What was asked for and done, in its order.</analysis>\n<summary>\n${summary}\n</summary>`;
      const blocks = [{ type: 'text', text: answer }];
      send(blocks, streams(blocks));
      messages.length = 0;
      add([{ type: 'text', text: `${CONTINUED}\n${summary}` }]);
      return thread;
    },
    declares(declared) {
      tools = declared;
      return thread;
    },
    uses(other) {
      model = other;
      return thread;
    },
    history: () => structuredClone(messages),
    now: () => at,
    lastText: () => lastText,
  };
  return thread;
}

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;
