/** `svc traces`, `svc spans` and `svc raw-turns`: what a session or a trace consists of, as tables. */
import pc from 'picocolors';
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import { mainArgument } from '../../harness/tool-argument.ts';
import type { Place } from '../../model/place.ts';
import type { RawTurnHead } from '../../model/raw-turn.ts';
import type { Span } from '../../model/span.ts';
import type { Trace } from '../../model/trace.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { dollars, lasting, plain, shortAge, shortCount, sized } from '../units.ts';
import { moreRemark } from './more-remark.ts';
import { sessionOf } from './session-of.ts';
import { type TableColumn, table } from './table.ts';

export type PartOptions = { json: boolean; limit: number };

type Page<Item> = { items: Item[]; next_cursor?: string; next_seq?: number };

/** Pages up to the limit as one, and where the rest begins, as parameters of the read API have it. Neither: there is none. */
type PartList<Item> = { items: Item[]; next_cursor?: string; next_trace_id?: string; next_seq?: number };

const PAGE = 200;

/** The traces of a session, or the newest of all. @param word null: of all */
export async function listTraces(
  word: string | null,
  options: PartOptions,
  loaded: LoadedConfig,
  io: Io,
): Promise<void> {
  const api = await openApiClient(loaded);
  const of = word === null ? '' : `&session_id=${await sessionOf(word, api, io.home)}`;
  const traces = await pages<Trace>(api, (limit) => `/v1/traces?limit=${limit}${of}`, options.limit);
  print(traces, traceColumns(Date.now()), options, io);
}

/** The spans of a trace, else of all traces of a session, in the order of the walk. */
export async function listSpans(word: string, options: PartOptions, loaded: LoadedConfig, io: Io): Promise<void> {
  const api = await openApiClient(loaded);
  print(await spansOf(await tracesNamedBy(word, api, io.home), options.limit, api), SPAN_COLUMNS, options, io);
}

async function spansOf(traces: readonly string[], most: number, api: ApiClient): Promise<PartList<Span>> {
  const items: Span[] = [];
  for (const trace_id of traces) {
    let from: number | undefined = 0;
    while (from !== undefined && items.length < most) {
      const limit = Math.min(PAGE, most - items.length);
      const path = `/v1/traces/${trace_id}/spans?from_seq=${from}&limit=${limit}`;
      const page: Page<Span> = await api.json({ path, what: 'list the spans' });
      items.push(...page.items);
      from = page.next_seq;
    }
    if (from !== undefined) return { items, next_trace_id: trace_id, next_seq: from };
  }
  return { items };
}

/** The raw turns of a session, in the order in which they were stored. */
export async function listRawTurns(word: string, options: PartOptions, loaded: LoadedConfig, io: Io): Promise<void> {
  const api = await openApiClient(loaded);
  const id = await sessionOf(word, api, io.home);
  const turns = await pages<RawTurnHead>(api, (limit) => `/v1/sessions/${id}/raw_turns?limit=${limit}`, options.limit);
  print(turns, TURN_COLUMNS, options, io);
}

function print<Item>(list: PartList<Item>, columns: TableColumn<Item>[], { json, limit }: PartOptions, io: Io): void {
  const isCut = list.next_cursor !== undefined || list.next_seq !== undefined;
  if (json) printJson(list, io);
  else io.out(table(list.items, columns, io.columns));
  if (isCut && !json) io.err(moreRemark(limit));
}

async function pages<Item>(api: ApiClient, path: (limit: number) => string, most: number): Promise<PartList<Item>> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const after: string = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Page<Item> = await api.json({
      path: path(Math.min(PAGE, most - items.length)) + after,
      what: 'read the list',
    });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined && items.length < most);
  return { items, ...(cursor !== undefined && { next_cursor: cursor }) };
}

/** The trace that a word names, else those of the session that it names, the oldest first. */
async function tracesNamedBy(word: string, api: ApiClient, home: string): Promise<string[]> {
  const path = `/v1/whereis/${encodeURIComponent(word)}`;
  const { items } = await api.json<{ items: Place[] }>({ path, what: 'find the trace' });
  const named = items.filter(({ kind }) => kind === 'trace');
  if (named.length > 0 && !items.some(({ kind }) => kind === 'session')) {
    if (named.length > 1)
      throw new OperatorError(`Cannot tell which trace '${plain(word)}' is: ${named.length} begin so`);
    return named.map(({ trace_id = '' }) => trace_id);
  }
  const id = await sessionOf(word, api, home);
  const all = await pages<Trace>(
    api,
    (limit) => `/v1/traces?limit=${limit}&session_id=${id}`,
    Number.POSITIVE_INFINITY,
  );
  return all.items.map(({ trace_id }) => trace_id).reverse();
}

const tokens = (of: { input_tokens: number; output_tokens: number }) => shortCount(of.input_tokens + of.output_tokens);
const took = (ns: number | undefined) =>
  ns === undefined ? '' : ns < 1e9 ? `${Math.round(ns / 1e6)} ms` : lasting(ns / 1e9);
const statusColour = (text: string) => (text === 'error' ? pc.red(text) : text === 'ok' ? text : pc.yellow(text));

const traceColumns = (now: number): TableColumn<Trace>[] => [
  { title: 'ID', text: ({ trace_id }) => trace_id.slice(0, 8), colour: pc.dim },
  { title: 'STARTED', text: ({ started_at }) => shortAge(started_at, now), drops: 1 },
  { title: 'PROMPT', text: ({ user_prompt, synthetic = '' }) => oneLine(user_prompt || synthetic), fills: true },
  { title: 'SPANS', text: ({ span_count }) => String(span_count), align: 'right', drops: 8 },
  { title: 'TOOLS', text: ({ tool_calls }) => String(tool_calls), align: 'right', drops: 7 },
  { title: 'ERRORS', text: ({ error_count }) => String(error_count), align: 'right', drops: 6 },
  { title: 'TOOK', text: ({ duration_ns }) => took(duration_ns), align: 'right', drops: 5 },
  { title: 'TOKENS', text: ({ usage }) => tokens(usage), align: 'right', drops: 4 },
  { title: 'COST', text: ({ usage }) => dollars(usage.cost_usd), align: 'right', drops: 3 },
  { title: 'STATUS', text: ({ status }) => status, colour: statusColour, drops: 2 },
];

const SPAN_COLUMNS: TableColumn<Span>[] = [
  { title: 'ID', text: ({ span_id }) => span_id.slice(0, 8), colour: pc.dim },
  { title: 'KIND', text: ({ kind }) => kind, drops: 1 },
  { title: 'NAME', text: ({ name, call_kind, kind }) => name || (kind === 'event' ? call_kind : '') },
  { title: 'WHAT', text: (span) => oneLine(whatOf(span)), fills: true },
  { title: 'TOOK', text: ({ duration_ns }) => took(duration_ns), align: 'right', drops: 5 },
  { title: 'TOKENS', text: ({ usage, kind }) => (kind === 'llm' ? tokens(usage) : ''), align: 'right', drops: 4 },
  {
    title: 'COST',
    text: ({ usage, kind }) => (kind === 'llm' ? dollars(usage.cost_usd) : ''),
    align: 'right',
    drops: 3,
  },
  { title: 'STATUS', text: ({ status }) => status, colour: statusColour, drops: 2 },
];

function whatOf({ kind, input, output, description = '', error_message = '' }: Span): string {
  if (kind === 'tool') return mainArgument(input[0]?.tool_input);
  if (kind === 'agent') return description;
  const blocks = kind === 'llm' ? output : input;
  return (
    blocks.find(({ text }) => text)?.text || error_message || (blocks.find(({ thinking }) => thinking)?.thinking ?? '')
  );
}

const oneLine = (text: string) => text.slice(0, 500).replace(/\s+/g, ' ').trim();

const TURN_COLUMNS: TableColumn<RawTurnHead>[] = [
  { title: 'TURN', text: ({ raw_turn_id }) => String(raw_turn_id), align: 'right', colour: pc.cyan },
  { title: 'REQUESTED', text: ({ requested_at = '' }) => requested_at.slice(0, 19).replace('T', ' '), drops: 1 },
  { title: 'SOURCE', text: ({ source }) => source, drops: 6 },
  { title: 'FORMAT', text: ({ format = '' }) => format, drops: 7 },
  { title: 'PATH', text: ({ url = '' }) => url, fills: true },
  { title: 'HTTP', text: ({ status }) => String(status ?? ''), align: 'right', drops: 3 },
  { title: 'REQUEST', text: ({ request_bytes }) => sized(request_bytes), align: 'right', drops: 5 },
  { title: 'RESPONSE', text: ({ response_bytes }) => sized(response_bytes), align: 'right', drops: 4 },
  {
    title: 'OUTCOME',
    text: ({ outcome = '', ending = '' }) => (ending === 'complete' ? outcome : `${outcome} ${ending}`),
    drops: 2,
  },
];
