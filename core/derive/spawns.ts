/** Spawns: what the state remembers of the tool calls that start threads, and how a thread is matched to the call that started it. */
import { spawnedNames, spawnIn } from '../harness/harnesses.ts';
import type { SpanRow } from './changes.ts';
import type { Anchor } from './evidence.ts';
import { firstWords, wordsKey } from './first-words.ts';
import type { Agent, Spawn } from './state.ts';
import { storable } from './storable.ts';
import type { ToolResult } from './tools.ts';
import type { CallTurn } from './turn.ts';

const SHOWN = 200;
const MOST_NAMES = 4;

export const shortText = (text: string): string => storable(text.slice(0, SHOWN));

/** The tools of an answer that start a thread. */
export const requestedSpawns = (turn: CallTurn, spans: readonly SpanRow[], n: number): Spawn[] =>
  spans.flatMap(({ span_id, external_id, input: [block] }) => {
    const tool_input = block?.tool_input;
    const request = spawnIn(turn.identity.harness_id, { tool_name: block?.tool_name ?? '', tool_input });
    if (!request) return [];
    return {
      ...{ tool_use_id: external_id, n, span_id, thread_id: turn.thread_id },
      prompt: wordsKey(firstWords(request.prompt)),
      label: shortText(request.label),
      description: shortText(request.description),
      ...{ names: [], done: false, claimed: '' },
    };
  });

/** The calls that start threads, with the results that were delivered. */
export const answeredSpawns = (
  spawns: readonly Spawn[],
  { identity }: CallTurn,
  delivered: readonly { tool: { n: number; span_id: string }; result: ToolResult }[],
): Spawn[] =>
  spawns.map((spawn) => {
    const block = delivered.find(({ tool }) => tool.n === spawn.n && tool.span_id === spawn.span_id)?.result.output[0];
    if (!block) return spawn;
    const names = spawnedNames(identity.harness_id, block).map(storable).slice(0, MOST_NAMES);
    return { ...spawn, done: true, names: names.filter((name) => name.length <= 2 * SHOWN) };
  });

/**
 * The call that started a thread, by the best evidence available: the tool call that its transcript names, the result that names
 * the thread, the thread's path, its first words. null: there is none, or it is ambiguous.
 * @param words by `wordsKey`; empty when they are not to be compared
 */
export function spawnOf(
  spawns: readonly Spawn[],
  { thread_id, path }: Pick<Agent, 'thread_id' | 'path'>,
  { anchor, words }: { anchor: Anchor | undefined; words: readonly string[] },
): Spawn | null {
  const others = spawns.filter((spawn) => spawn.thread_id !== thread_id);
  const free = others.filter(({ claimed }) => claimed === '' || claimed === thread_id);
  const toolUseId = anchor?.tool_use_id ?? '';
  const found = [
    toolUseId === '' ? [] : others.filter(({ tool_use_id }) => tool_use_id === toolUseId),
    others.filter(({ names }) => names.includes(thread_id)),
    path === '' ? [] : free.filter(({ names }) => names.includes(path)),
    path === '' ? [] : free.filter(({ names }) => names.some((name) => endsIn(path, name))),
    words.length === 0 ? [] : free.filter(({ prompt }) => prompt !== '' && words.includes(prompt)),
  ].find(({ length }) => length > 0);
  const [spawn, ...more] = found ?? [];
  return spawn && more.length === 0 ? spawn : null;
}

const endsIn = (path: string, name: string): boolean => path.endsWith(`/${name.replace(/^\/+/, '')}`);

/** The call, marked with the thread that it started; the first thread that was found stays. */
export const claimedBy = (spawn: Spawn, { thread_id }: Pick<Agent, 'thread_id'>): Spawn =>
  spawn.claimed !== '' ? spawn : { ...spawn, claimed: thread_id };
