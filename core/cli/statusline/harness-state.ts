/** What a harness passes to the command of its status bar, as JSON: which session it is in, and how full its context is. */
import { isObject, parseJson } from '../../parse-json.ts';

export type HarnessState = {
  session_id: string | null;
  /** The folder that the harness was started in. */
  project_dir: string | null;
  /** From 0 to 100; null: it does not say. */
  context_percent: number | null;
};

/** Every member may be absent: the first status lines of a session come before its first call. */
export function harnessState(input: string): HarnessState {
  const state = objectIn(parseJson(input));
  const workspace = objectIn(state.workspace);
  return {
    session_id: textIn(state.session_id),
    project_dir: textIn(workspace.project_dir) ?? textIn(workspace.current_dir) ?? textIn(state.cwd),
    context_percent: contextPercent(objectIn(state.context_window)),
  };
}

function contextPercent({
  used_percentage,
  current_usage,
  context_window_size,
}: Record<string, unknown>): number | null {
  if (isCount(used_percentage)) return used_percentage;
  if (!isObject(current_usage) || !isCount(context_window_size) || context_window_size === 0) return null;
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = current_usage;
  const counts = [input_tokens, cache_creation_input_tokens, cache_read_input_tokens].filter(isCount);
  return counts.length === 0 ? null : (counts.reduce((sum, count) => sum + count, 0) / context_window_size) * 100;
}

const objectIn = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
const textIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
