/** The form in which a state is stored: without the members that are as in a new session, which of a short conversation are most. */
import { isObject } from '../parse-json.ts';
import { noAgentTotals } from './agent-totals.ts';
import type { CallKey } from './order.ts';
import { emptyState, type SessionState } from './state.ts';

/** A state without some of its members. `replacing`: of a pass that folds calls again and has not ended. */
export type StoredState = { version: number; replacing?: boolean; last?: CallKey | null; [name: string]: unknown };

export const storedState = (state: SessionState): StoredState => ({
  version: state.version,
  ...asObject(without(state, USUAL)),
});

/** The state that was stored, also if it was stored as a whole, as earlier builds do. One of another version cannot be used. */
export const restoredState = (stored: StoredState): SessionState => withUsual(stored, USUAL) as SessionState;

/**
 * What a member is when it is left out, and of a list of records what a record's members are. A stored state has no value for these: to
 * change one is to change the version of the rules.
 */
const { version: _, ...empty } = emptyState('');
const USUAL = {
  ...empty,
  live: [
    {
      ...{ led: true, forgot_agents: false, totals: noAgentTotals },
      row: {
        ...{ source: 'wire', synthetic: '', status: 'ok', tool_calls: 0, error_count: 0, unpriced_models: [] },
        ...{ input_tokens: 0, output_tokens: 0, main_input_tokens: 0, main_output_tokens: 0 },
        ...{ cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0, cost_usd: null },
      },
    },
  ],
  agents: [
    { tool: '', label: '', description: '', ended_at: null, status: 'ok', totals: noAgentTotals, rejoined: false },
  ],
  heads: [{ thread_id: '', guessed: false, gone_on: false }],
  pending: [{ thread_id: '', action: '', stages: [], verdict: null, served: false }],
};

/** The value without its usual members; undefined: all of it is usual. */
function without(value: unknown, usual: unknown): unknown {
  if (value === usual) return undefined;
  if (Array.isArray(value)) {
    if (!Array.isArray(usual)) return value;
    const [record] = usual;
    if (record !== undefined) return value.length === 0 ? undefined : value.map((one) => without(one, record) ?? {});
    return value.length === 0 ? undefined : value;
  }
  if (!isObject(value) || !isObject(usual)) return value;
  if (isRecord(usual)) return isRecord(value) ? undefined : value;
  const kept: Record<string, unknown> = {};
  let any = false;
  for (const name of Object.keys(value)) {
    const own = Object.hasOwn(usual, name) ? without(value[name], usual[name]) : value[name];
    if (own === undefined) continue;
    kept[name] = own;
    any = true;
  }
  return any ? kept : undefined;
}

/** Undoes `without`. */
function withUsual(stored: unknown, usual: unknown): unknown {
  if (stored === undefined) return Array.isArray(usual) ? [] : isObject(usual) ? withUsual({}, usual) : usual;
  if (Array.isArray(stored)) {
    const [record] = Array.isArray(usual) ? usual : [];
    return record === undefined ? stored : stored.map((one) => withUsual(one, record));
  }
  if (!isObject(stored) || !isObject(usual) || isRecord(usual)) return stored;
  const whole: Record<string, unknown> = { ...stored };
  for (const name of Object.keys(usual)) whole[name] = withUsual(stored[name], usual[name]);
  return whole;
}

/** An object without fixed members, which maps names to values. */
const isRecord = (usual: Record<string, unknown>): boolean => Object.keys(usual).length === 0;

const asObject = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
