import { embeddedDatabase, serverDatabase } from '/work/wt/web-raw/test/support/databases.ts';
const kinds = (process.argv[2] ?? 'embedded,server').split(',');
const every = { text: null, project: null, agent_name: null, model: null, provider: null, harness_id: null, status: null, parent_session_id: null, fork_of_session_id: null, starred: null, since: null, until: null };
for (const kind of kinds) {
  const db = kind === 'server' ? await serverDatabase(process.env.SVC_TEST_DSN ?? '', { statementTimeoutMs: 600_000 }) : await embeddedDatabase({ statementTimeoutMs: 600_000 });
  try {
    const t0 = Date.now();
    await db.sql(`alter table svc.sessions disable trigger user`); await db.sql(`alter table svc.session_rollups disable trigger user`);
    await db.sql(`insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at, turn_count)
      select md5(n::text)::uuid, 'h' || n % 7, 'hs' || n, '\\x00', now() - n * interval '1 minute', now() - n * interval '1 minute', 10 from generate_series(1,100000) n`);
    await db.sql(`insert into svc.session_rollups (session_id, derive_version, project, agent_name, status, model, parent_session_id)
      select md5(n::text)::uuid, 1, 'project-' || n % 300, 'agent-' || n % 5, 'completed', 'm', case when n % 10 = 0 then md5((n-1)::text)::uuid end from generate_series(1,100000) n`);
    await db.sql(`insert into svc.traces (trace_id, session_id, source, status, user_prompt, response_preview, started_at) select md5('t'||n)::uuid, md5(n::text)::uuid, 'wire','ok','','', now() from generate_series(1,100000) n`);
    for (let part = 0; part < 10; part++) {
    await db.sql(`insert into svc.spans (trace_id, span_id, session_id, seq, kind, name, model, provider, external_id, started_at)
      select md5('t'||n)::uuid, md5('s'||n||'-'||k)::uuid, md5(n::text)::uuid, k, case when k % 2 = 0 then 'llm' else 'tool' end, '', 'model-' || (n % 12 + (k % 4 = 0)::int), 'provider-' || n % 4, 'msg_' || n || '-' || k, now()
        from generate_series(${part}*10000+1, ${part + 1}*10000) n, generate_series(1,20) k`);
    }
    await db.sql('vacuum analyze svc.spans'); await db.sql('vacuum analyze svc.sessions'); await db.sql('vacuum analyze svc.session_rollups'); await db.sql('vacuum analyze svc.session_edits');
    console.log(kind, 'filled', Date.now() - t0);
    for (const r of await db.sql(`select relname, pg_size_pretty(pg_relation_size(oid)) as size from pg_class where relname like 'spans%' order by 1`)) console.log(r.relname, r.size);
    const time = async (name: string, run: () => Promise<unknown>) => { const all: number[] = []; let last: unknown; for (let i = 0; i < 7; i++) { const s = performance.now(); last = await run(); all.push(performance.now() - s); } all.sort((a, b) => a - b); console.log(name.padEnd(40), all[3]?.toFixed(1), 'worst', all[6]?.toFixed(1), JSON.stringify(last).slice(0, 80)); };
    for (const field of ['project', 'agent_name', 'harness_id', 'model', 'provider'] as const) {
      await time(`facets ${field}`, () => db.execute('browseFacets', { field, filter: every, limit: 50 } as never));
      await time(`facets ${field} project=`, () => db.execute('browseFacets', { field, filter: { ...every, project: 'project-3' }, limit: 50 } as never));
      await time(`facets ${field} since 7d`, () => db.execute('browseFacets', { field, filter: { ...every, since: new Date(Date.now() - 7 * 864e5).toISOString() }, limit: 50 } as never));
    }
    const [s] = await db.sql(`select span_id::text, trace_id::text, session_id::text, external_id from svc.spans limit 1`);
    for (const id of [s?.span_id, s?.trace_id, s?.session_id, s?.external_id, 'hs777', 'none', '12']) await time(`whereis ${id}`, () => db.execute('whereIs', { id } as never));
    await time('list sessions', () => db.execute('listSessions', { after: null, limit: 50 }));
    await time('browse parent', () => db.execute('browseSessions', { filter: { ...every, parent_session_id: s?.session_id }, sort: 'last_active', direction: 'desc', after: null, limit: 50 } as never));
    await time('browse fork', () => db.execute('browseSessions', { filter: { ...every, fork_of_session_id: s?.session_id }, sort: 'total_cost', direction: 'desc', after: null, limit: 50 } as never));
    await time('browse starred', () => db.execute('browseSessions', { filter: { ...every, starred: true }, sort: 'last_active', direction: 'desc', after: null, limit: 50 } as never));
    await time('status', () => db.execute('readStatus', { counted_bytes: 67108864 }));
    if (kind === 'embedded') console.log(await db.sql('select sum(size)::text from pg_ls_waldir()').catch((e: Error) => e.message));
    await time('recordSize', () => db.execute('recordSize', {}));
  } finally { await db.close(); }
}
