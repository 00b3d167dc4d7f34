/** A cassette that tries what it should not: each path is an attempt, and its answer says what came of it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { availableParallelism } from 'node:os';

const attempt = async (work) => {
  try {
    return Response.json({ done: (await work()) ?? true });
  } catch (error) {
    return Response.json({ refused: error.code ?? error.message });
  }
};

const connected = (...to) =>
  new Promise((resolve, reject) => {
    connect(...to)
      .once('connect', () => resolve('connected'))
      .once('error', reject);
  });

const attempts = {
  '/ping': () => new Response('pong'),
  '/read': ({ path }) => attempt(() => readFileSync(path, 'utf8').length),
  '/list': ({ path }) => attempt(() => readdirSync(path)),
  '/write': ({ path }) => attempt(() => writeFileSync(path, 'x')),
  '/spawn': () => attempt(async () => (await import('node:child_process')).execFileSync('/bin/true')),
  '/thread': () =>
    attempt(async () => {
      const { Worker } = await import('node:worker_threads');
      new Worker('1', { eval: true });
    }),
  '/addon': ({ path }) => attempt(() => process.dlopen({ exports: {} }, path)),
  '/debugger': () => attempt(async () => (await import('node:inspector')).open(0)),
  '/environment': () =>
    Response.json({ env: process.env, argv: process.argv.length, pid: process.pid, ppid: process.ppid }),
  '/signal': ({ pid, signal }) => attempt(() => process.kill(Number(pid), signal)),
  '/connect': ({ host, port }) => attempt(() => connected(Number(port), host)),
  '/socket': ({ path }) => attempt(() => connected(path)),
  '/loop': () => {
    for (;;);
  },
  '/processors': async () => {
    const { pbkdf2 } = await import('node:crypto');
    const [cpu, wall] = [process.cpuUsage(), performance.now()];
    const pool = Array.from({ length: 4 }, () => new Promise((done) => pbkdf2('x', 'y', 200_000, 64, 'sha512', done)));
    while (performance.now() - wall < 300);
    await Promise.all(pool);
    const { user, system } = process.cpuUsage(cpu);
    return Response.json({ seen: availableParallelism(), busy: (user + system) / 1000 / (performance.now() - wall) });
  },
  '/exhaust': () => {
    const kept = [];
    for (;;) kept.push({ n: [kept.length] });
  },
  '/exhaust-buffers': () => {
    const kept = [];
    for (;;) kept.push(Buffer.alloc(1_048_576, 1));
  },
  '/exit': ({ code }) => process.exit(Number(code)),
  '/reject': () => {
    void Promise.reject(new Error('nobody handles this'));
    return new Promise(() => {});
  },
  '/throw-later': () => {
    setTimeout(() => {
      throw new Error('nobody catches this');
    });
    return new Promise(() => {});
  },
  '/flood': async () => {
    for (let i = 0; i < 20_000; i += 1) console.log('x'.repeat(500));
    return new Response('flooded');
  },
  '/no-newline': async () => {
    process.stdout.write('y'.repeat(5_000_000));
    return new Response('written');
  },
  '/flood-log': (_request, env) => {
    for (let i = 0; i < 20_000; i += 1) env.LOG.info({ i }, 'x'.repeat(500));
    return new Response('flooded');
  },
  '/close-server': () => {
    for (const handle of process._getActiveHandles()) handle.destroy?.();
    return new Promise(() => {});
  },
  '/scribble': () => {
    for (const handle of process._getActiveHandles())
      if (handle.constructor.name === 'Socket') handle.write('garbage\r\n\r\n');
    writeFileSync(3, 'garbage that is no frame of any protocol');
    return new Promise(() => {});
  },
  '/garbage': () => ({ ok: true }),
  '/nothing': () => undefined,
  '/no-status': () => Response.error(),
  '/status-999': () => ({ status: 999, headers: new Headers(), body: null }),
  '/odd-length': () => new Response('hello', { headers: { 'content-length': 'five' } }),
  '/throw': () => {
    throw new TypeError('it cannot');
  },
  '/endless': () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('begun'));
        },
      }),
    ),
  '/huge-header': () => new Response('x', { headers: { 'x-huge': 'h'.repeat(1_000_000) } }),
  '/dies-midway': () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('begun'));
          setTimeout(() => process.exit(9), 100);
        },
      }),
    ),
  '/fails-midway': () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('begun'));
          setTimeout(() => controller.error(new Error('halfway')), 50);
        },
      }),
    ),
  '/ungranted': (_request, env) => Response.json({ has: Object.keys(env).sort() }),
  '/hold': () => new Promise(() => {}),
};

export default {
  manifest: {
    kind: 'svc.cassette/v1',
    cassette: { name: 'hostile', version: '1.0.0' },
    bindings: { network: true }, // a test may grant it
  },
  fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    return attempts[pathname](Object.fromEntries(searchParams), env);
  },
};
