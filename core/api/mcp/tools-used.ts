/** Which tools did the turns of a page use, and how often? */
import type { Answer, Args, Database } from '../../db/database.ts';
import type { Trace } from '../../model/trace.ts';

export type ToolUse = { name: string; calls: number };

const STEPS = 500;
const MOST_PAGES = 4; // two thousand steps, or four megabytes as stored; of turns beyond, only the count of calls is known

/** By trace, the tool used most first. */
export async function toolsUsed(
  ask: Database['ask'],
  session_id: string,
  traces: readonly Trace[],
  signal: AbortSignal,
): Promise<Map<string, ToolUse[]>> {
  const calls = new Map<string, Map<string, number>>(traces.map(({ trace_id }) => [trace_id, new Map()]));
  const inOrder = [...traces].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  const [first, last] = [inOrder.at(0), inOrder.at(-1)];
  if (!first || !last || traces.every(({ tool_calls }) => tool_calls === 0)) return new Map();
  let after: Args<'spansOf'>['after'] = { ...keyOf(first), seq: -1, span_id: NO_SPAN };
  for (let page = 0; page < MOST_PAGES && after !== null && !signal.aborted; page++) {
    const { spans, next }: Answer<'spansOf'> = await ask('spansOf', {
      of: { session_id },
      after,
      limit: STEPS,
      payload: 'preview',
    });
    for (const { span } of spans) {
      const names = calls.get(span.trace_id);
      if (names && span.kind === 'tool') names.set(span.name, (names.get(span.name) ?? 0) + 1);
    }
    after = next !== null && placeOf(next) <= placeOf(last) ? next : null;
  }
  return new Map([...calls].map(([trace_id, names]) => [trace_id, mostFirst(names)]));
}

const NO_SPAN = '00000000-0000-0000-0000-000000000000';

const keyOf = ({ started_at, trace_id }: Trace) => ({ started_at, trace_id });

/** Instants and ids compare as text. */
const placeOf = ({ started_at, trace_id }: { started_at: string; trace_id: string }) => `${started_at} ${trace_id}`;

const mostFirst = (names: ReadonlyMap<string, number>): ToolUse[] =>
  [...names].map(([name, calls]) => ({ name, calls })).sort((a, b) => b.calls - a.calls);
