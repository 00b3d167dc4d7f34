/** How fast does an export leave, and in how much memory? Five thousand sessions through the mount, and one that is as large as many. */
import { manifest } from '../../cassettes/export/manifest.ts';
import { standCassette } from '../support/cassette-stand.ts';
import { embeddedDatabase, serverDatabase, type TestDatabase } from '../support/databases.ts';
import { heading, ms, row } from './figures.ts';

const SESSIONS = 5_000;
const SPANS = 20; // of a session, in two traces
const LARGE_SPANS = 10_000;
const TEXTS = 64;
const LOOK_MS = 20; // a look at the memory takes a tenth of a millisecond
const PART = 250; // sessions of one insert
const LARGE = '00000000-0000-4000-8000-000000000001';

export async function benchExport(): Promise<void> {
  for (const kind of ['embedded', 'server'] as const) {
    const dsn = process.env.SVC_TEST_DSN;
    if (kind === 'server' && !dsn) {
      row('server', 'SVC_TEST_DSN is not set');
      continue;
    }
    const options = { statementTimeoutMs: 600_000 };
    const database = kind === 'server' ? await serverDatabase(dsn ?? '', options) : await embeddedDatabase(options);
    try {
      await putSessions(database);
      heading(`Export, ${kind}: ${SESSIONS} sessions of ${SPANS} spans, and one of ${LARGE_SPANS}`);
      row('', 'MB', 'MB/s', 'first byte', 'RSS by quarters, MB');
      const stand = await standCassette(database, { folder: 'export', manifest });
      try {
        await taken(stand, '/sessions?detail=traces');
        for (const [name, path] of [
          ['all, spans', '/sessions'],
          ['all, spans, again', '/sessions'],
          ['all, turn headers', '/sessions?detail=traces'],
          ['the large one', `/sessions/${LARGE}`],
        ] as const) {
          const { bytes, seconds, first, quarters } = await taken(stand, path);
          const mb = bytes / 1e6;
          row(name, mb.toFixed(0), (mb / seconds).toFixed(0), ms(first), quarters.join(' '));
        }
      } finally {
        await stand.close();
      }
    } finally {
      await database.close();
    }
  }
}

type Stand = { ask(path: string): Promise<Response> };

/** `quarters`: the most memory of this process while each quarter of the answer came. */
async function taken(stand: Stand, path: string) {
  const began = performance.now();
  let looked = 0;
  const seen: { bytes: number; rss: number }[] = [];
  let first = 0;
  let bytes = 0;
  for await (const chunk of (await stand.ask(path)).body ?? []) {
    if (bytes === 0) first = performance.now() - began;
    bytes += chunk.byteLength;
    if (performance.now() < looked + LOOK_MS) continue;
    looked = performance.now();
    seen.push({ bytes, rss: process.memoryUsage.rss() });
  }
  const quarters = [1, 2, 3, 4].map((quarter) => {
    const its = seen.filter((one) => Math.ceil((one.bytes / bytes) * 4) === quarter);
    return Math.round(its.reduce((most, { rss }) => Math.max(most, rss), 0) / 1e6);
  });
  return { bytes, seconds: (performance.now() - began) / 1000, first, quarters };
}

/** Prose of 1 to 8 kB, which compresses about as prose does. */
async function putSessions(database: TestDatabase): Promise<void> {
  const texts = Array.from({ length: TEXTS }, (_, n) => prose(n, 1_000 + (n % 8) * 1_000));
  for (let from = 1; from <= SESSIONS; from += PART)
    await put(
      database,
      texts,
      `select md5(s::text)::uuid as id, s as n, ${SPANS} as spans from generate_series(${from}, ${from + PART - 1}) s`,
    );
  await put(database, texts, `select '${LARGE}'::uuid as id, 0 as n, ${LARGE_SPANS} as spans`);
  for (const table of ['svc.sessions', 'svc.session_rollups', 'svc.traces', 'svc.spans', 'svc.span_links'])
    await database.sql(`vacuum (analyze) ${table}`);
}

async function put(database: TestDatabase, texts: readonly string[], sessions: string): Promise<void> {
  const at = `now() - interval '20 days' + s.n * interval '5 minutes'`;
  await database.sql(
    `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at, turn_count)
     select s.id, 'bench', s.n::text, '', ${at}, ${at}, 2 from (${sessions}) s`,
  );
  await database.sql(
    `insert into svc.session_rollups (session_id, derive_version, title, model, trace_count)
     select s.id, 1, 'Session ' || s.n, 'claude-sonnet-4-6', 2 from (${sessions}) s`,
  );
  await database.sql(
    `insert into svc.traces (trace_id, session_id, user_prompt, started_at)
     select md5(s.id || '-' || t)::uuid, s.id, 'prompt ' || t, ${at} + t * interval '1 minute'
       from (${sessions}) s, generate_series(0, 1) t`,
  );
  await database.sql(
    `insert into svc.spans (trace_id, span_id, session_id, seq, kind, call_kind, name, model, provider, started_at, input, output)
     select md5(s.id || '-' || p % 2)::uuid, md5(s.id || '/' || p)::uuid, s.id, p, 'llm', 'main', 'claude-sonnet-4-6',
            'claude-sonnet-4-6', 'anthropic', ${at},
            jsonb_build_array(jsonb_build_object('type', 'text', 'text', $1::jsonb->>((s.n + p) % ${TEXTS}))),
            jsonb_build_array(jsonb_build_object('type', 'text', 'text', left($1::jsonb->>((s.n * 7 + p) % ${TEXTS}), 800)))
       from (${sessions}) s, lateral (select generate_series(0, s.spans - 1) as p) p`,
    [JSON.stringify(texts)],
  );
  await database.sql(
    `insert into svc.span_links (session_id, kind, from_trace_id, from_span_id, to_trace_id, to_span_id)
     select s.id, 'feeds', md5(s.id || '-' || (p - 1) % 2)::uuid, md5(s.id || '/' || p - 1)::uuid,
            md5(s.id || '-' || p % 2)::uuid, md5(s.id || '/' || p)::uuid
       from (${sessions}) s, lateral (select generate_series(1, s.spans - 1, 4) as p) p`,
  );
}

/** Words of which the first of a list come most often, and a line break now and then. */
function prose(seed: number, length: number): string {
  let state = seed + 1;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  let text = '';
  while (text.length < length)
    text += `${Math.floor(random() ** 3 * 4_000).toString(36)}e${random() < 0.1 ? '.\n' : ' '}`;
  return text;
}
