/** Outlines for tests: made of steps written as objects, column by column as the API answers. */
import type { Outline } from '../../core/model/outline.ts';

export type Step = {
  id: string;
  trace: string;
  kind?: 'agent' | 'llm' | 'tool' | 'event';
  parent?: string;
  seq?: number;
} & Partial<{
  [key in
    | 'call_kind'
    | 'name'
    | 'thread'
    | 'status'
    | 'error_type'
    | 'model'
    | 'stop_reason'
    | 'verdict'
    | 'label']: string;
}> &
  Partial<{
    [key in
      | ('started_us' | 'first_byte_us' | 'duration_us' | 'cost_usd' | 'raw_turn_id' | 'inherited' | 'images')
      | ('input_tokens' | 'cache_read_tokens' | 'cache_write_tokens' | 'output_tokens')
      | ('input_lines' | 'input_characters' | 'output_lines' | 'output_characters')]: number | null;
  }>;
export type TraceFacts = { id: string; started_us?: number; prompt?: string; synthetic?: string };
export type Relation = { kind: string; from: string; to: string };

type Content = { traces: TraceFacts[]; steps: Step[]; links?: Relation[]; rev?: string; whole?: boolean };

const SESSION = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
const BASE = '2026-07-27T09:30:00.000000Z';

/** The id of a step as the outline has it: a UUID, made of a short name. */
export const uuidOf = (name: string): string => {
  const hex = [...name].map((character) => character.charCodeAt(0).toString(16).padStart(2, '0')).join('');
  const digits = hex.padEnd(30, '0').slice(0, 30);
  return digits.replace(/^(.{8})(.{4})(.{3})(.{3})(.{12})$/, '$1-$2-5$3-8$4-$5');
};

/** @param known the steps that links and parents may name besides those of the answer */
export function outlineAnswer(
  { traces, steps, links = [], rev = '1', whole = true }: Content,
  known: readonly Step[] = steps,
): Outline {
  const names: string[] = [];
  const name = (word: string) => {
    if (!names.includes(word)) names.push(word);
    return names.indexOf(word);
  };
  const others: Outline['others'] = [];
  const reference = (id: string | undefined): number => {
    if (id === undefined) return -1;
    const own = steps.findIndex((step) => step.id === id);
    if (own >= 0) return own;
    const trace = known.find((step) => step.id === id)?.trace ?? 'elsewhere';
    const other = { session_id: SESSION, trace_id: uuidOf(trace), span_id: uuidOf(id) };
    const at = others.findIndex(({ span_id }) => span_id === other.span_id);
    return steps.length + (at >= 0 ? at : others.push(other) - 1);
  };
  const words = (key: keyof Step, otherwise: string) => steps.map((step) => name(String(step[key] ?? otherwise)));
  const numbers = (key: keyof Step) => steps.map((step) => Number(step[key] ?? 0));
  const maybe = (key: keyof Step) =>
    steps.map((step) => (step[key] === undefined ? null : (step[key] as number | null)));
  const seqs = new Map<string, number>();
  const zeros = traces.map(() => 0);
  return {
    schema: 'svc.outline/v1',
    rev,
    whole,
    base_at: BASE,
    names,
    traces: {
      trace_id: traces.map(({ id }) => uuidOf(id)),
      started_us: traces.map(({ started_us = 0 }) => started_us),
      duration_us: traces.map(() => null),
      status: traces.map(() => name('ok')),
      source: traces.map(() => name('wire')),
      synthetic: traces.map(({ synthetic = '' }) => name(synthetic)),
      user_prompt: traces.map(({ prompt = '' }) => prompt),
      ...{ span_count: zeros, tool_calls: zeros, error_count: zeros, input_tokens: zeros, output_tokens: zeros },
      cost_usd: traces.map(() => null),
    },
    spans: {
      span_id: steps.map(({ id }) => uuidOf(id)),
      trace: steps.map(({ trace }) => traces.findIndex(({ id }) => id === trace)),
      parent: steps.map(({ parent }) => reference(parent)),
      seq: steps.map(({ trace, seq }) => {
        const next = seq ?? seqs.get(trace) ?? 0;
        seqs.set(trace, next + 1);
        return next;
      }),
      ...{
        kind: words('kind', 'llm'),
        call_kind: words('call_kind', ''),
        name: words('name', ''),
        thread: words('thread', ''),
      },
      ...{ status: words('status', 'ok'), error_type: words('error_type', ''), model: words('model', '') },
      ...{ stop_reason: words('stop_reason', ''), verdict: words('verdict', '') },
      ...{
        started_us: numbers('started_us'),
        first_byte_us: maybe('first_byte_us'),
        duration_us: maybe('duration_us'),
      },
      ...{ input_tokens: numbers('input_tokens'), cache_read_tokens: numbers('cache_read_tokens') },
      ...{ cache_write_tokens: numbers('cache_write_tokens'), output_tokens: numbers('output_tokens') },
      ...{ cost_usd: maybe('cost_usd'), raw_turn_id: maybe('raw_turn_id'), inherited: numbers('inherited') },
      label: steps.map(({ label = '' }) => label),
      ...{ input_lines: numbers('input_lines'), input_characters: numbers('input_characters') },
      ...{ output_lines: numbers('output_lines'), output_characters: numbers('output_characters') },
      images: numbers('images'),
    },
    links: {
      kind: links.map(({ kind }) => name(kind)),
      from: links.map(({ from }) => reference(from)),
      to: links.map(({ to }) => reference(to)),
    },
    others,
  };
}
