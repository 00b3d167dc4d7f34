/** Calls beside the conversation: the waiting tool that such a call judges or serves. */
import { normalAction } from '../harness/action.ts';
import type { PermissionVerdict } from '../harness/harness.ts';
import { isServedBy, verdictIn } from '../harness/harnesses.ts';
import type { CallKind } from '../model/call-kind.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { PendingTool, SessionState } from './state.ts';
import { storable } from './storable.ts';
import type { CallTurn } from './turn.ts';

const ACTION = 200;
const MOST_VERDICTS = 2;
const PROBE = 22;
const SHORTEST = 6;

/** The tool that a call judges, or serves: then the latest that waits and that no other call has served. null: none. */
export function servedTool({ pending }: SessionState, turn: CallTurn): PendingTool | null {
  const stage = stageOf(turn.kind);
  if (stage !== null) return judgedTool(pending, turn, stage);
  const waiting = pending.filter(({ served, tool_name }) => !served && isServedBy(turn.kind, tool_name));
  return waiting.findLast(({ thread_id }) => thread_id === turn.thread_id) ?? waiting.at(-1) ?? null;
}

/** The verdict of a permission check; null: the call is none, or its answer cannot be read. */
export const verdictOf = ({ kind, identity, reply }: CallTurn): PermissionVerdict | null =>
  stageOf(kind) && verdictIn(identity.harness_id, kind, reply?.content ?? []);

/** The tools that wait, once one of them was served. */
export const servedAfter = (
  pending: readonly PendingTool[],
  tool: PendingTool | null,
  verdict: PermissionVerdict | null,
): PendingTool[] =>
  pending.map((other) => {
    if (other !== tool) return other;
    return verdict ? { ...tool, verdict, stages: [...tool.stages, verdict.stage] } : { ...tool, served: true };
  });

/** What a tool would do, to be compared with a check's text: the texts of its input, normalised, a line each. */
export function actionOf({ tool_input }: ContentBlock): string {
  const texts: string[] = [];
  const gather = (value: unknown, depth: number): void => {
    if (texts.length >= 8 || depth > 3) return;
    if (typeof value === 'string') texts.push(normalAction(storable(value.slice(0, 2 * ACTION))));
    else if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value).slice(0, 8)) gather(member, depth + 1);
  };
  gather(tool_input, 0);
  return storable(
    texts
      .filter((text) => text !== '')
      .join('\n')
      .slice(0, ACTION),
  );
}

const stageOf = (kind: CallKind): 1 | 2 | null =>
  kind === 'offshoot:permission-check:stage1' ? 1 : kind === 'offshoot:permission-check:stage2' ? 2 : null;

/** The most similar tool of the call's own thread, else of any; among equals, the one that more stages have judged. */
function judgedTool(
  pending: readonly PendingTool[],
  { judged, thread_id }: CallTurn,
  stage: 1 | 2,
): PendingTool | null {
  if (judged === '') return null;
  const open = pending.filter(({ stages }) => stages.length < MOST_VERDICTS && !stages.includes(stage));
  const ranked = (tools: readonly PendingTool[]): PendingTool | null => {
    const like = tools
      .map((tool) => ({ tool, likeness: likeness(judged, tool) }))
      .filter(({ likeness }) => likeness > 0)
      .sort((one, other) => other.likeness - one.likeness || other.tool.stages.length - one.tool.stages.length);
    return like[0]?.tool ?? null;
  };
  return (
    ranked(open.filter((tool) => tool.thread_id === thread_id)) ??
    ranked(open.filter((tool) => tool.thread_id !== thread_id))
  );
}

const NAMED = 1000;
const SAME = 500;

/** How much of a judged action is found in a tool; 0 is none. A tool that the action names ranks above all others. */
function likeness(judged: string, { tool_name, action }: PendingTool): number {
  const shown = judged.startsWith('{') ? judged.slice(1).replace(/\}$/, '') : judged;
  const name = normalAction(tool_name);
  const named = name !== '' && shown.startsWith(name) && !/\w/.test(shown.charAt(name.length));
  if (name.startsWith('mcp__')) return shown.startsWith(name) ? NAMED + name.length : 0;
  const body = named ? shown.slice(name.length).replace(/^[\s:(]+/, '') : shown;
  if (named && body === '' && action === '') return NAMED;
  const found = Math.max(0, ...action.split('\n').map((text) => common(body, text)));
  return found === 0 ? 0 : found + (named ? NAMED : 0);
}

function common(body: string, text: string): number {
  if (text === '' || body === '') return 0;
  if (body === text) return SAME + text.length;
  if (text.length >= SHORTEST && body.includes(text)) return text.length;
  if (text.length >= PROBE && body.includes(text.slice(0, PROBE))) return PROBE;
  return body.length >= SHORTEST && text.includes(body.slice(0, PROBE)) ? Math.min(PROBE, body.length) : 0;
}
