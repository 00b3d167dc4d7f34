/** my-cassette: one of everything that a cassette can have. Take away what yours does not need, here and in openapi.ts. */
import { openapi } from "./openapi.js";
/** The manifest: what this cassette is, and what it needs. Whoever installs it sees this and consents; it receives nothing else. */
export const manifest = {
    kind: 'svc.cassette/v1',
    cassette: {
        name: 'my-cassette',
        version: '0.1.0',
        description: 'Lists sessions, finds the longest, and keeps count of them',
    },
    depends: { core: 'v1', views: ['sessions'] },
    bindings: { db: true, core: true },
    tables: [{ name: 'counts' }],
    config: [
        { key: 'min_turns', type: 'int', default: 1, min: 0, description: 'Sessions with fewer turns are left out' },
    ],
    schedule: { every_seconds: 300 },
};
/** Each runs once, in this order, in a schema of its own. One that has run is never edited: add another. */
const migrations = [
    {
        name: '0001_counts',
        sql: 'create table counts (counted_at timestamptz primary key default now(), sessions bigint not null)',
    },
];
/** The routes. Their paths begin with /api/my-cassette; callers find them at /v1/cassettes/my-cassette. */
const routes = {
    'GET /ping': () => new Response('pong'),
    'GET /openapi': () => Response.json({ ...openapi, 'x-svc-cassette': manifest }),
    // Rows are sent as they come: any number of sessions fits, and a reader who leaves ends the query.
    'GET /api/my-cassette/sessions': (_request, env) => ndjson(database(env).stream(`select id, display_title, turn_count, total_cost_usd
           from svc_v1.sessions where turn_count >= $1 order by started_at`, [env.CONFIG.min_turns])),
    // A tool for agents, because of `x-svc-mcp` in openapi.ts: its arguments are the body, its result is the response.
    'POST /api/my-cassette/longest': async (request, env) => {
        const input = (await request.json().catch(() => null));
        const limit = input?.limit ?? 5;
        if (!input || !Number.isInteger(limit) || limit < 1 || limit > 50)
            return problem(422, 'Send {"limit": 1 to 50}');
        const { rows } = await database(env).query(`select id, display_title as title, turn_count as turns
         from svc_v1.sessions where turn_count >= $1 order by turn_count desc, id limit $2`, [env.CONFIG.min_turns, limit]);
        return Response.json({ sessions: rows });
    },
    'GET /api/my-cassette/counts': async (_request, env) => {
        const { rows } = await database(env).query('select counted_at, sessions from counts order by counted_at desc limit 100');
        return Response.json({ counts: rows });
    },
};
export default {
    manifest,
    migrations,
    async fetch(request, env) {
        const { pathname } = new URL(request.url);
        try {
            const handler = routes[`${request.method} ${pathname}`];
            return handler ? await handler(request, env) : problem(404, 'There is no such route');
        }
        catch (error) {
            env.LOG.error({ route: pathname, reason: String(error) }, 'a request failed'); // no prompts, no keys
            return problem(500, 'It failed; the log of the service has the reason');
        }
    },
    /** Every five minutes, on one machine at a time. CORE is the read API of the service, without network. */
    async scheduled(_event, env) {
        const response = await env.CORE?.fetch('/v1/stats');
        if (!response?.ok)
            throw new Error(`Cannot count: the read API answered ${response?.status}`);
        const { session_count } = (await response.json());
        await database(env).query('insert into counts (sessions) values ($1)', [session_count]);
    },
};
function database(env) {
    if (!env.DB)
        throw new Error('Cannot read: this service runs without a database');
    return env.DB;
}
/** RFC 9457, with the sentence a second time as `error`, where clients of this API look for it. */
const problem = (status, detail) => Response.json({ status, detail, error: detail }, { status, headers: { 'content-type': 'application/problem+json' } });
/** One line of JSON for each row. The next row is fetched when the reader wants more. */
function ndjson(rows) {
    const left = rows[Symbol.asyncIterator]();
    const encoder = new TextEncoder();
    const body = new ReadableStream({
        async pull(controller) {
            const { done, value } = await left.next();
            if (done)
                controller.close();
            else
                controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
        },
        async cancel() {
            await left.return?.();
        },
    });
    return new Response(body, { headers: { 'content-type': 'application/x-ndjson' } });
}
