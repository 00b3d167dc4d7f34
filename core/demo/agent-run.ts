/**
 * Runs of Claude Code for the demo: sessions with sub-agents, calls beside the conversation, compactions and forks. Unlike in a script, all
 * tokens stand in the bytes, four characters each, and what is cached follows from what was sent before.
 */
import { openPromptCache } from './prompt-cache.ts';
import { openThread, type RunCall, type RunOptions, type RunThread } from './run-thread.ts';

export type AgentRun = RunOptions & { main: RunThread; calls: RunCall[] };

export function openRun(options: RunOptions): AgentRun {
  const calls: RunCall[] = [];
  const record = (call: RunCall) => void calls.push(call);
  const { system, from = [] } = options;
  const main = openThread({ ...options, record }, openPromptCache(), { id: '', system, at: 0, history: from });
  return { ...options, main, calls };
}
