/** Deriving again writes no row anew: of the demo, of what real clients sent, and of the files that they left. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { runDeriveWorker } from '../../../../core/engine/derive/derive-worker.ts';
import { openLog } from '../../../../core/log.ts';
import { formatOf } from '../../../../core/provider/formats.ts';
import { capturedCall, recordedJournalCalls, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { demoApi } from '../../../support/demo-api.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { fixtureFolder } from '../../../support/fixtures.ts';
import { testIngest } from '../../../support/ingested-turns.ts';
import { type Json, testApi } from '../../../support/read-api.ts';
import { capturedCalls } from '../../../support/replay-captures.ts';
import { assertDays } from '../../../support/stat-days.ts';
import { harnessFiles, testTranscripts, type UploadedMessage, upload } from '../../../support/transcript-uploads.ts';

const recorded = await recordedJournalCalls();
const DERIVED = ['traces', 'spans', 'span_links', 'session_rollups', 'nodes', 'calls'];

databaseSuite('deriving twice', (test, database) => {
  test('the demo and all that was captured of real harnesses, derived again, keep each row as it was written', async () => {
    await storeEverything(database());
    await deriveAll(database());
    const first = await versions(database());
    const [counts] = await database().sql(`
      select count(*)::int as sessions, (select count(distinct source)::int from svc.traces) as sources from svc.sessions`);
    if (recorded) assert.equal(counts, { sessions: 27, sources: 2 });

    for (const time of ['the second time', 'the third']) {
      const report = await deriveRun(database());
      assert.equal([report.pending, report.parked, report.parse_failures], [0, 0, []]);
      assert.equal(changes(first, await versions(database())), [], time);
    }
  });

  test('messages that the bytes do not say so are mended, and no other row is touched', async () => {
    const before = await versions(database());
    const [head] = await database().sql(`
      select session_id, node_hash from svc.nodes
       where is_head and role = 'assistant' and call_id not like 'tx:%' order by node_hash limit 1`);
    const own = [head?.session_id, head?.node_hash];
    await database().sql(
      `insert into svc.nodes
       select (jsonb_populate_record(n, jsonb_build_object(
                 'node_hash', sha256(n.node_hash), 'parent_hash', n.node_hash, 'depth', n.depth + 1))).*
         from svc.nodes n where n.session_id = $1::uuid and n.node_hash = $2::bytea`,
      own,
    );
    await database().sql(
      `update svc.nodes set is_head = false, cost_usd = 99 where session_id = $1::uuid and node_hash = $2::bytea`,
      own,
    );
    await deriveRun(database());
    const after = await versions(database());
    const unversioned = (rows: ReadonlySet<string>) =>
      [...rows].map((row) => row.replace(/^nodes \d+ /, 'nodes ')).sort();
    assert.equal(unversioned(after), unversioned(before));
    assert.is(changes(before, after).length, 2, 'one row, as it was and as it is');
    await assertDays(database());
  });
});

/** Each row with the transaction that wrote it. What a transcript says is read anew, so that its nodes only say the same. */
async function versions(database: TestDatabase): Promise<Set<string>> {
  const rows: string[] = [];
  for (const table of DERIVED) {
    const found = await database.sql(`
      select case when to_jsonb(x) ->> 'call_id' like 'tx:%' and '${table}' = 'nodes' then '' else xmin::text end
             || ' ' || to_jsonb(x)::text as row
        from svc.${table} x`);
    rows.push(...found.map(({ row }) => `${table} ${row}`));
  }
  assert.is(new Set(rows).size, rows.length);
  return new Set(rows);
}

const changes = (before: ReadonlySet<string>, after: ReadonlySet<string>): string[] => [
  ...[...before].filter((row) => !after.has(row)).map((row) => `- ${row.slice(0, 400)}`),
  ...[...after].filter((row) => !before.has(row)).map((row) => `+ ${row.slice(0, 400)}`),
];

async function deriveRun(database: TestDatabase): Promise<Json> {
  const stopping = new AbortController();
  const metrics = { derived: () => {}, derivePending: () => {} };
  const parts = { database, reader: builtIn, log: openLog('silent'), metrics };
  const worker = runDeriveWorker({ ...parts, signal: stopping.signal, pollMs: 50 });
  try {
    const run = await testApi({ execute: database.execute }).request('/v1/admin/derive/run', { method: 'POST' });
    assert.is(run.status, 200);
    return await run.json();
  } finally {
    stopping.abort();
    await worker.stopped;
  }
}

async function storeEverything(database: TestDatabase): Promise<void> {
  await demoApi(database);
  if (recorded) await takeIn(database, recorded);
  await takeIn(database, clientCalls());
  const { bodies, files } = corpus();
  const ingest = await testIngest(database);
  for (const body of bodies) assert.is((await ingest.append(body, null)).kind, 'accepted');
  const real = [...harnessFiles('claude'), ...harnessFiles('codex')];
  const alone = real.map(({ session, ...file }): UploadedMessage => {
    const { harness_id } = session as { harness_id: string };
    return { ...file, session: { harness_id, harness_session_id: `only a file of ${harness_id}` } };
  });
  await upload(testTranscripts(database), ...files, ...real, ...alone);
}

/** Of all clients, as the journal holds them. */
const clientCalls = (): JournalCall[] =>
  (capturedCalls() ?? []).flatMap(({ method, url, headers, body, response }, i) => {
    const format = formatOf(method, url.split('?')[0] ?? '')?.id;
    if (!format) return [];
    const { status, contentType } = response;
    const responseHeaders: [string, string][] = [['content-type', contentType]];
    const call = capturedCall({ n: 1_000 + i, format, request: body, response: response.body, status });
    return {
      ...call,
      opened: { ...call.opened, url, headers },
      responseHead: call.responseHead && { ...call.responseHead, headers: responseHeaders },
    };
  });

function corpus(): { bodies: Uint8Array[]; files: UploadedMessage[] } {
  const folder = fixtureFolder('corpus');
  if (!folder) return { bodies: [], files: [] };
  const rows = gunzipSync(readFileSync(join(folder, 'corpus-codex-delta.jsonl.gz')))
    .toString()
    .trim()
    .split('\n')
    .map((line): Json => JSON.parse(line));
  return {
    bodies: rows
      .filter(({ source }) => source === 'wire')
      .map(({ provider, raw_request: request, response, meta, session_envelope: session }) =>
        Buffer.from(JSON.stringify({ provider, request, response, meta, session })),
      ),
    files: rows
      .filter(({ source }) => source === 'transcript')
      .map(({ raw_request: records, meta, session_envelope: session }): UploadedMessage => {
        const { agent_id, agent_type, description, tool_use_id } = meta;
        return { ...{ session, agent_id, agent_type, description, tool_use_id }, kind: 'started', records };
      }),
  };
}
