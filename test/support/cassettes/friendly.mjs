/** A cassette that behaves: it answers in every way that a Response can. */

const text = new TextEncoder();
const line = (n) => text.encode(`${JSON.stringify({ n, pad: 'x'.repeat(1_000) })}\n`);

/** `lines` lines of about 1 kB, made only as they are read. `x-made` of /made is how many were made. */
let made = 0;
let cancelled = 0;
let aborted = 0;

const ndjson = (lines) =>
  new ReadableStream(
    {
      pull(controller) {
        if (made === lines) return controller.close();
        controller.enqueue(line(made));
        made += 1;
      },
      cancel() {
        cancelled += 1;
      },
    },
    { highWaterMark: 0 },
  );

const routes = {
  '/ping': () => new Response('pong'),
  '/pid': () => Response.json({ pid: process.pid, environment: Object.keys(process.env) }),
  '/echo': async (request) =>
    new Response(request.body, { headers: { 'content-type': request.headers.get('content-type') ?? 'text/plain' } }),
  '/told': async (request) =>
    Response.json({ method: request.method, url: request.url, headers: Object.fromEntries(request.headers) }),
  '/ndjson': (request) => {
    made = 0;
    return new Response(ndjson(Number(new URL(request.url).searchParams.get('lines'))));
  },
  '/made': () => Response.json({ made, cancelled, aborted }),
  '/events': () => {
    let n = 0;
    const ticks = new ReadableStream({
      async pull(controller) {
        if (n > 0) await new Promise((resolve) => setTimeout(resolve, 20));
        controller.enqueue(text.encode(`data: ${n}\n\n`));
        n += 1;
      },
      cancel() {
        cancelled += 1;
      },
    });
    return new Response(ticks, { headers: { 'content-type': 'text/event-stream' } });
  },
  '/bodyless': (request) => {
    const { searchParams } = new URL(request.url);
    return new Response(null, { status: Number(searchParams.get('status')), headers: { location: '/ping' } });
  },
  '/redirect': () => Response.redirect('http://localhost/ping', 302),
  '/cookies': () =>
    new Response(null, {
      status: 204,
      headers: [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
    }),
  '/hangs': (request) =>
    new Promise((resolve) => {
      request.signal.addEventListener('abort', () => {
        aborted += 1;
        resolve(new Response('late'));
      });
    }),
  '/refuses': () => new Response('no', { status: 413 }),
  '/env': (_request, env) => Response.json({ has: Object.keys(env).sort(), config: env.CONFIG }),
  '/query': async (request, env) => {
    const { sql, parameters } = await request.json();
    try {
      return Response.json(
        await env.DB.query(sql, [...parameters, new Uint8Array([1, 255]), 7n, new Date(0), undefined]),
      );
    } catch ({ name, message, sqlstate, transient }) {
      return Response.json({ name, message, sqlstate, transient }, { status: 400 });
    }
  },
  '/rows': async (request, env) => {
    const take = Number(new URL(request.url).searchParams.get('take'));
    let taken = 0;
    let sum = 0;
    try {
      for await (const { n } of env.DB.stream('select', [], { rows: 'object' })) {
        sum += n;
        taken += 1;
        if (taken === take) break;
      }
    } catch ({ name, message }) {
      return Response.json({ taken, name, message });
    }
    return Response.json({ taken, sum });
  },
  '/rows-and-queries': async (_request, env) => {
    let queries = 0;
    for await (const { n } of env.DB.stream('select')) {
      await env.DB.query('select', [n]);
      queries += 1;
    }
    return Response.json({ queries });
  },
  '/core': async (request, env) => {
    const answer = await env.CORE.fetch('/v1/sessions?limit=1', {
      method: 'POST',
      headers: { 'x-a': 'b' },
      body: request.body,
      duplex: 'half',
    });
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  },
  '/log': (_request, env) => {
    env.LOG.info({ n: 1 }, 'hello');
    console.log('printed');
    console.error('complained');
    return new Response('ok');
  },
  '/later': (_request, env, context) => {
    context.waitUntil(
      new Promise((resolve) => setTimeout(resolve, 300)).then(() => env.LOG.info({}, 'it was waited for')),
    );
    return new Response('ok');
  },
};

export default {
  manifest: { kind: 'svc.cassette/v1', cassette: { name: 'friendly', version: '1.0.0' } },
  migrations: [{ name: '1', sql: 'create table t (a int)' }],
  fetch(request, env, context) {
    const route = routes[new URL(request.url).pathname];
    return route ? route(request, env, context) : new Response('no such route', { status: 404 });
  },
  async scheduled({ scheduled_at, signal }, env, context) {
    if (scheduled_at === 0) throw new Error('nothing was due');
    if (scheduled_at === 1) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      env.LOG.info({}, 'it stopped');
      return;
    }
    if (scheduled_at === 2) context.progress({ done: -1, pending: 0, failed: 0 });
    if (scheduled_at === 3)
      for (let done = 0; done <= 500; done++)
        context.progress({ done, pending: 500 - done, failed: 2, more: 'left out' });
    env.LOG.info({ scheduled_at }, 'it ran');
  },
};
