/**
 * Runs of Claude Code for the demo: sessions with sub-agents, calls beside the conversation, compactions and forks. Unlike in a script, all
 * tokens stand in the bytes, four characters each, and what is cached follows from what was sent before.
 */
import type { Message } from './anthropic-wire.ts';
import { openPromptCache } from './prompt-cache.ts';
import { openThread, type RunThread } from './run-thread.ts';
import type { DemoTool } from './script.ts';

export type RunOptions = {
  slug: string; // part of every id
  minutes_ago: number;
  cwd: string;
  model: string;
  system: string;
  tools: readonly DemoTool[];
  /** The history of another run from which this one goes on. */
  from?: readonly Message[];
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

export type AgentRun = RunOptions & { main: RunThread; calls: RunCall[] };

export function openRun(options: RunOptions): AgentRun {
  const calls: RunCall[] = [];
  const record = (call: RunCall) => void calls.push(call);
  const { system, from = [] } = options;
  const main = openThread({ ...options, record }, openPromptCache(), { id: '', system, at: 0, history: from });
  return { ...options, main, calls };
}
