/** Inserts rows of the projection and the capture log into a test's database: defaults, and the columns that the test is about. */
import { createHash } from 'node:crypto';
import { linkTypes } from '../../core/db/columns/link.ts';
import { rollupTypes } from '../../core/db/columns/session.ts';
import { spanTypes } from '../../core/db/columns/span.ts';
import { traceTypes } from '../../core/db/columns/trace.ts';

/** The part of a test's database that this needs: SQL as text, with `$1` for values. */
type SqlClient = { sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> };

/** An id made of a number, by which it can be recognised and sorts. */
export const idOf = (kind: 'session' | 'trace' | 'span', n: number): string =>
  `${{ session: '5', trace: '7', span: '9' }[kind]}${n.toString(16).padStart(7, '0')}-0000-4000-8000-000000000000`;

/** A fixed instant plus that many microseconds. */
export const instantAt = (microseconds: number): string =>
  `2026-07-27T09:${String(Math.floor(microseconds / 60_000_000) % 60).padStart(2, '0')}:${String(Math.floor(microseconds / 1_000_000) % 60).padStart(2, '0')}.${String(microseconds % 1_000_000).padStart(6, '0')}Z`;

/** One statement for any number of rows, with the columns that any of them has. */
async function insert(
  db: SqlClient,
  table: string,
  types: Record<string, string>,
  rows: readonly Record<string, unknown>[],
) {
  if (rows.length === 0) return;
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const definition = columns.map((column) => `${column} ${types[column] ?? unknownColumn(table, column)}`).join(', ');
  await db.sql(
    `insert into ${table} (${columns.join(', ')}) select ${columns.join(', ')} from jsonb_to_recordset($1::jsonb) as r(${definition})`,
    [JSON.stringify(rows)],
  );
}

const unknownColumn = (table: string, column: string): never => {
  throw new Error(`Cannot insert into ${table}: no column is called "${column}"`);
};

export const insertSessions = (db: SqlClient, rows: readonly { n: number; [column: string]: unknown }[]) =>
  insert(
    db,
    'svc.sessions',
    {
      session_id: 'uuid',
      harness_id: 'text',
      harness_session_id: 'text',
      client_key: 'bytea',
      auth_subject: 'text',
      fork_of_session_id: 'uuid',
      started_at: 'timestamptz',
      last_seen_at: 'timestamptz',
      ended_at: 'timestamptz',
      turn_count: 'integer',
    },
    rows.map(({ n, ...overrides }) => ({
      session_id: idOf('session', n),
      harness_id: 'claude-code',
      harness_session_id: `harness-session-${n}`,
      client_key: '\\x00',
      auth_subject: '',
      started_at: instantAt(n),
      last_seen_at: instantAt(n),
      turn_count: 0,
      ...overrides,
    })),
  );

export const insertRollups = (db: SqlClient, rows: readonly { n: number; [column: string]: unknown }[]) =>
  insert(
    db,
    'svc.session_rollups',
    rollupTypes,
    rows.map(({ n, ...overrides }) => ({
      session_id: idOf('session', n),
      derive_version: 1,
      agent_name: '',
      project: '',
      status: 'unknown',
      model: '',
      trace_count: 0,
      input_tokens: 0,
      output_tokens: 0,
      cost_usd: '0',
      unpriced_models: [],
      model_usage: [],
      kind_counts: {},
      tasks: [],
      ...overrides,
    })),
  );

export const insertTraces = (
  db: SqlClient,
  rows: readonly { n: number; session: number; [column: string]: unknown }[],
) =>
  insert(
    db,
    'svc.traces',
    traceTypes,
    rows.map(({ n, session, ...overrides }) => ({
      trace_id: idOf('trace', n),
      session_id: idOf('session', session),
      source: 'wire',
      synthetic: '',
      status: 'ok',
      user_prompt: `prompt ${n}`,
      response_preview: '',
      started_at: instantAt(n),
      span_count: 0,
      tool_calls: 0,
      input_tokens: 0,
      output_tokens: 0,
      unpriced_models: [],
      ...overrides,
    })),
  );

export const insertSpans = (
  db: SqlClient,
  rows: readonly { n: number; trace: number; session: number; [column: string]: unknown }[],
) =>
  insert(
    db,
    'svc.spans',
    spanTypes,
    rows.map(({ n, trace, session, ...overrides }) => ({
      trace_id: idOf('trace', trace),
      span_id: idOf('span', n),
      session_id: idOf('session', session),
      seq: n,
      kind: 'llm',
      call_kind: 'main',
      name: `span ${n}`,
      error_type: '',
      error_message: '',
      started_at: instantAt(n),
      input: [],
      output: [],
      input_tokens: 0,
      ...overrides,
    })),
  );

export const insertLinks = (
  db: SqlClient,
  rows: readonly {
    kind: string;
    session: number;
    from: [trace: number, span: number];
    to: [trace: number, span: number];
    io?: string;
  }[],
) =>
  insert(
    db,
    'svc.span_links',
    linkTypes,
    rows.map(({ kind, session, from, to, io = '' }) => ({
      session_id: idOf('session', session),
      kind,
      from_trace_id: idOf('trace', from[0]),
      from_span_id: idOf('span', from[1]),
      from_io: io,
      to_trace_id: idOf('trace', to[0]),
      to_span_id: idOf('span', to[1]),
      to_io: io,
    })),
  );

type Exchange = {
  session: number;
  seq: number;
  request: Uint8Array;
  response: Uint8Array | null;
  response_headers?: [string, string][];
  [column: string]: unknown;
};

/** Raw turns with their slices: one piece for each body, no header left open. Answers their ids. */
export async function insertRawTurns(db: SqlClient, exchanges: readonly Exchange[]): Promise<number[]> {
  const ids: number[] = [];
  for (const { session, seq, request, response, response_headers = [], ...overrides } of exchanges) {
    const requestPiece = await slice(db, request);
    const page = await slice(db, Buffer.from(requestPiece, 'hex'));
    const responseSlice = response && (await slice(db, response));
    const header = async (headers: [string, string][]) => `\\x${await slice(db, Buffer.from(JSON.stringify(headers)))}`;
    const columns: Record<string, unknown> = {
      source: 'wire',
      svc_proxy_request_id: `request-${session}-${seq}`,
      session_id: idOf('session', session),
      session_seq: seq,
      turn_hash: `\\x${String(seq).padStart(64, '0')}`,
      outcome: 'captured',
      ending: 'complete',
      provider: 'anthropic',
      method: 'POST',
      url: '/v1/messages',
      status: response ? 200 : null,
      harness_id: 'claude-code',
      harness_session_id: `harness-session-${session}`,
      identity: '{"agent_name":"claude"}',
      requested_at: instantAt(seq),
      request_header_template: await header([['content-type', 'application/json']]),
      response_header_template: response ? await header(response_headers) : null,
      request_pages: `\\x${page}`,
      request_page_depth: 1,
      request_bytes: request.byteLength,
      request_digest: `\\x${sha256(request)}`,
      response_slice: responseSlice && `\\x${responseSlice}`,
      response_bytes: response?.byteLength ?? 0,
      response_digest: response && `\\x${sha256(response)}`,
      ...overrides,
    };
    const names = Object.keys(columns);
    const [row] = await db.sql(
      `insert into svc.raw_turns (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')}) returning raw_turn_id::text`,
      Object.values(columns),
    );
    ids.push(Number(row?.raw_turn_id));
  }
  return ids;
}

async function slice(db: SqlClient, bytes: Uint8Array): Promise<string> {
  const id = sha256(bytes);
  await db.sql(
    'insert into svc.slices (slice_id, codec, size_bytes, bytes) values ($1::bytea, 0, $2::integer, $3::bytea) on conflict do nothing',
    [`\\x${id}`, bytes.byteLength, `\\x${Buffer.from(bytes).toString('hex')}`],
  );
  return id;
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
