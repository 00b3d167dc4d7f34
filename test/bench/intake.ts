/** How fast do calls get from the journal into the database, and what do they weigh there? */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { instantNow } from '../../core/capture/clock.ts';
import { openJournal } from '../../core/capture/journal.ts';
import { openJournalReader } from '../../core/capture/journal-reader.ts';
import { redactHeaders } from '../../core/capture/redact.ts';
import { runIntake } from '../../core/engine/intake/intake.ts';
import { openLog } from '../../core/log.ts';
import { openMetrics } from '../../core/metrics.ts';
import { embeddedDatabase, serverDatabase, type TestDatabase } from '../support/databases.ts';
import { heading, perSecond, row } from './figures.ts';
import { benchGrowingTranscript } from './growing-transcript.ts';
import { prose } from './prose.ts';
import { benchTranscripts } from './transcripts.ts';

const KB = 1024;
const log = openLog('warn');

type Load = {
  name: string;
  calls: () => Generator<{ session: string; request: Buffer; response: Buffer }>;
  bars?: { embedded: number; server: number }; // turns a second
};

const loads: Load[] = [
  {
    name: '140 KB turns: 80 sessions of 15 calls',
    calls: () => growingSessions(80, 15),
    bars: { embedded: 600, server: 1_000 },
  },
  { name: 'one session of 300 calls', calls: () => growingSessions(1, 300) },
  { name: 'small turns', calls: () => smallTurns(10_000), bars: { embedded: 1_500, server: 2_500 } },
];

export async function benchIntake(groups: readonly string[]): Promise<void> {
  if (groups.length === 0 || groups.includes('turns')) await benchTurns();
  if (groups.length === 0 || groups.includes('transcripts')) await benchTranscripts();
  if (groups.length === 0 || groups.includes('growing')) await benchGrowingTranscript();
  if (groups.includes('filled')) await benchFilled();
}

const FILLED = { slices: 3_000_000, nodes: 1_000_000 };

/**
 * Only where it is named, since it fills a server's database for minutes: what a turn writes where slices and nodes are many. Their keys are
 * hashes, so that each new one is in another page, and after a checkpoint the log holds all of that page.
 */
async function benchFilled(): Promise<void> {
  const dsn = process.env.SVC_TEST_DSN;
  heading(`Intake: 140 KB turns beside ${FILLED.slices} slices and ${FILLED.nodes} nodes`);
  if (!dsn) return row('server', 'SVC_TEST_DSN is not set');
  row('', 'turns', 'turns/s', '', '', 'tables', 'log');
  for (const filled of [false, true]) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
    const database = await serverDatabase(dsn);
    try {
      if (filled) await fill(database);
      await database.sql('checkpoint');
      const { turns, seconds, tables, logged } = await takeIn(folder, database, growingSessions(80, 5));
      const aTurn = (bytes: number) => `${(bytes / turns / KB).toFixed(1)} KB`;
      const name = filled ? 'filled, after a checkpoint' : 'empty';
      row(name, String(turns), perSecond(turns / seconds), '', '', aTurn(tables), aTurn(logged));
    } finally {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Rows that no turn refers to, without the triggers that add up totals. */
async function fill({ sql }: TestDatabase): Promise<void> {
  const inParts = async (rows: number, insert: (from: number, to: number) => string) => {
    for (let from = 0; from < rows; from += 100_000)
      await sql(`do $body$ begin
        perform set_config('session_replication_role', 'replica', true);
        ${insert(from, from + 99_999)};
      end $body$`);
  };
  await inParts(
    FILLED.slices,
    (from, to) => `
      insert into svc.slices (slice_id, codec, size_bytes, bytes)
      select sha256(i::text::bytea), 0, 320, decode(repeat(md5(i::text), 20), 'hex') from generate_series(${from}, ${to}) i`,
  );
  await inParts(
    FILLED.nodes,
    (from, to) => `
      insert into svc.nodes (session_id, node_hash, parent_hash, raw_turn_id, call_id, slice_id, position, depth, role, model, provider,
                             agent_name, project, is_root, is_head, requested_at, created_at)
      select md5((i / 20)::text)::uuid, sha256(i::text::bytea), sha256((i - 1)::text::bytea), -i, 'call ' || i, sha256(i::text::bytea), 0, 0,
             'user', 'm', 'anthropic', '', '', false, false, now(), now() from generate_series(${from}, ${to}) i`,
  );
}

/** `tables` and `log`: bytes a turn of tables with their indexes, and of the write-ahead log. */
async function benchTurns(): Promise<void> {
  for (const { name, calls, bars } of loads) {
    heading(`Intake: ${name}`);
    row('', 'turns', 'turns/s', 'bar', 'wire a turn', 'tables', 'log');
    for (const kind of ['embedded', 'server'] as const) {
      const dsn = process.env.SVC_TEST_DSN;
      if (kind === 'server' && !dsn) {
        row('server', 'SVC_TEST_DSN is not set');
        continue;
      }
      const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
      const database = await (kind === 'server' ? serverDatabase(dsn ?? '') : embeddedDatabase({ folder }));
      try {
        const { turns, seconds, wireBytes, tables, logged } = await takeIn(folder, database, calls());
        const aTurn = (bytes: number) => `${(bytes / turns / KB).toFixed(1)} KB`;
        const bar = bars ? `>= ${perSecond(bars[kind])}` : '';
        row(kind, String(turns), perSecond(turns / seconds), bar, aTurn(wireBytes), aTurn(tables), aTurn(logged));
      } finally {
        await database.close();
        await rm(folder, { recursive: true, force: true });
      }
    }
  }
}

/** Writes a journal as the proxy does, then takes it in; only the second part is timed. */
export async function takeIn(
  folder: string,
  database: TestDatabase,
  calls: Iterable<{ session: string; request: Buffer; response: Buffer }>,
) {
  const journalFolder = join(folder, 'journal');
  const journal = await openJournal({ folder: journalFolder, maxBytes: 2 ** 33, log });
  let wireBytes = 0;
  let turns = 0;
  for (const { session, request, response } of calls) {
    const copy = journal.open({
      svc_proxy_request_id: v7(),
      requested_at: instantNow(),
      provider: 'anthropic',
      format: 'anthropic.messages',
      method: 'POST',
      url: '/v1/messages?beta=true',
      headers: redactHeaders(headersOf(session, request.byteLength).flat()),
      client_key: 'ab'.repeat(32),
      project: '',
      keep: 'full',
    });
    copy?.requestBytes(request);
    copy?.responseHead({
      status: 200,
      headers: redactHeaders(answerHeaders(turns).flat()),
      first_byte_at: instantNow(),
    });
    copy?.responseBytes(response);
    copy?.close({
      ending: 'complete',
      last_byte_at: instantNow(),
      request_bytes: request.byteLength,
      response_bytes: response.byteLength,
      cut: 'none',
      over_limit: false,
    });
    wireBytes += request.byteLength + response.byteLength;
    turns += 1;
    if (turns % 20 === 0) await journal.flush();
  }
  await journal.close();

  const before = await sizes(database);
  const stopping = new AbortController();
  const reader = openJournalReader({ folder: journalFolder, liveRunId: null, positions: [], log });
  const began = performance.now();
  const intake = runIntake({
    database,
    journal: reader,
    identityKey: new Uint8Array(32),
    log,
    metrics: openMetrics('engine'),
    signal: stopping.signal,
  });
  await intake.drained();
  const seconds = (performance.now() - began) / 1000;
  stopping.abort();
  await intake.stopped;
  reader.close();
  const after = await sizes(database);
  return { turns, seconds, wireBytes, tables: after.tables - before.tables, logged: after.logged - before.logged };
}

/** `logged`: since the cluster was made; other databases of a server's are quiet. */
export async function sizes({ sql }: TestDatabase): Promise<{ tables: number; logged: number }> {
  const [found] = await sql(`
    select pg_database_size(current_database())::double precision as tables,
           pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::double precision as logged`);
  return { tables: Number(found?.tables), logged: Number(found?.logged) };
}

/** Coding sessions of the size that recorded ones have: 28 tools and a system prompt of 120 KB, then 2 KB more with each call. */
function* growingSessions(sessions: number, calls: number) {
  const system = [{ type: 'text', text: prose(30 * KB, 1), cache_control: { type: 'ephemeral' } }];
  const tools = Array.from({ length: 28 }, (_, i) => ({
    name: `tool_${i}`,
    description: prose(2.5 * KB, i + 2),
    input_schema: { type: 'object', properties: { path: { type: 'string' } } },
  }));
  const histories = Array.from({ length: sessions }, (_, i): unknown[] => [
    { role: 'user', content: `Session ${i}: ${prose(KB, i + 50)}` },
  ]);
  for (let call = 0; call < calls; call++) {
    for (const [i, messages] of histories.entries()) {
      const answer = prose(600, call * 31 + i);
      const use = {
        type: 'tool_use',
        id: `toolu_${i}_${call}`,
        name: `tool_${call % 28}`,
        input: { path: `src/file-${call}.ts` },
      };
      const body = {
        model: 'claude-sonnet-4-6',
        messages,
        system,
        tools,
        metadata: { user_id: `user_${i}` },
        max_tokens: 32_000,
        stream: true,
      };
      yield {
        session: `bench-${i}`,
        request: Buffer.from(JSON.stringify(body)),
        response: streamed(answer, use, call),
      };
      messages.push(
        { role: 'assistant', content: [{ type: 'text', text: answer }, use] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: use.id, content: prose(1.2 * KB, call * 17 + i) }],
        },
      );
    }
  }
}

export function* smallTurns(count: number) {
  for (let i = 0; i < count; i++) {
    const body = { model: 'claude-sonnet-4-6', max_tokens: 10, messages: [{ role: 'user', content: `Question ${i}` }] };
    yield {
      session: `small-${i % 200}`,
      request: Buffer.from(JSON.stringify(body)),
      response: streamed(`Answer ${i}`, null, i),
    };
  }
}

function streamed(text: string, use: { id: string; name: string; input: unknown } | null, n: number): Buffer {
  const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  const message = {
    id: `msg_${n}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-6',
    content: [],
    usage: { input_tokens: 2, output_tokens: 1 },
  };
  const deltas = text.match(/[\s\S]{1,60}/g) ?? [];
  return Buffer.from(
    [
      event('message_start', { message }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...deltas.map((piece) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: piece } })),
      event('content_block_stop', { index: 0 }),
      ...(use
        ? [
            event('content_block_start', { index: 1, content_block: { ...use, type: 'tool_use', input: {} } }),
            event('content_block_delta', {
              index: 1,
              delta: { type: 'input_json_delta', partial_json: JSON.stringify(use.input) },
            }),
            event('content_block_stop', { index: 1 }),
          ]
        : []),
      event('message_delta', { delta: { stop_reason: use ? 'tool_use' : 'end_turn' }, usage: { output_tokens: 50 } }),
      event('message_stop', {}),
    ].join(''),
  );
}

const headersOf = (session: string, bytes: number): [string, string][] => [
  ['accept', 'application/json'],
  ['authorization', '[redacted]'],
  ['content-type', 'application/json'],
  ['user-agent', 'claude-cli/2.1.219 (external, sdk-cli)'],
  ['x-claude-code-session-id', session],
  ['x-stainless-retry-count', '0'],
  ['anthropic-version', '2023-06-01'],
  ['content-length', String(bytes)],
];

const answerHeaders = (n: number): [string, string][] => [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['request-id', `req_${n}`],
  ['anthropic-ratelimit-unified-status', 'allowed'],
  ['cf-ray', `${n}-DEV`],
];
