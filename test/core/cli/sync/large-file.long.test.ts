/** How much memory does `svc sync` take for a file of several hundred megabytes? Its process, before a listener that only counts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('svc sync of a large file');

const FILE_MB = 400;
const MOST_MB = 150;
const root = resolve(import.meta.dirname, '../../../..');

/** Accepts everything and keeps nothing. */
async function countingListener() {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      response.writeHead(request.method === 'POST' ? 202 : 200, {
        'content-type': 'application/json',
        'x-svc-installation': 'a'.repeat(32),
      });
      response.end(JSON.stringify({ status: 'accepted', deduped: false, session_id: 'x' }));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((ready) => server.once('listening', ready));
  const close = () => new Promise((closed) => server.close(closed));
  return { port: (server.address() as AddressInfo).port, bytes: () => bytes, close };
}

/** The most memory that the command had at a time, in megabytes. */
function peakOfSync(home: string, port: number): Promise<{ status: number | null; peakMb: number; out: string }> {
  const child = spawn(
    process.execPath,
    ['--import', join(root, 'node_modules/tsx/dist/loader.mjs'), join(root, 'core/cli/main.ts'), 'sync', '--json'],
    { cwd: home, env: { PATH: process.env.PATH, HOME: home, SVC_INGEST_LISTEN: `127.0.0.1:${port}` } },
  );
  let [peakMb, out]: [number, string] = [0, ''];
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.pipe(process.stderr);
  const poll = setInterval(() => {
    try {
      const [, kb = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
      peakMb = Math.max(peakMb, Number(kb) / 1024);
    } catch {} // it has ended
  }, 20);
  return new Promise((ended) =>
    child.once('close', (status) => {
      clearInterval(poll);
      ended({ status, peakMb, out });
    }),
  );
}

test(`a file of ${FILE_MB} MB takes less than ${MOST_MB} MB more than a small one`, async () => {
  if (process.platform !== 'linux') return console.log('skip: the memory of a process is read from /proc');
  const home = await mkdtemp(join(tmpdir(), 'svc-large-'));
  const listener = await countingListener();
  try {
    const folder = join(home, '.claude/projects/p');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'small.jsonl'), '{"type":"user"}\n');
    const small = await peakOfSync(home, listener.port);
    assert.is(small.status, 0, small.out);

    const file = createWriteStream(join(folder, 'large.jsonl'));
    const line = (size: number) =>
      `${JSON.stringify({ type: 'user', uuid: 'u', text: 'plugh "\\ é '.repeat(size / 10) })}\n`;
    const lines = [line(800), line(6_000), line(300), line(90_000), line(1_500_000), line(20_000_000)];
    for (let bytes = 0, n = 0; bytes < FILE_MB * 1e6; n++) {
      const next = lines[n % 400 === 399 ? 5 : n % 40 === 39 ? 4 : n % 4] ?? '';
      bytes += Buffer.byteLength(next);
      if (!file.write(next)) await once(file, 'drain');
    }
    file.end();
    await finished(file);
    const large = await peakOfSync(home, listener.port);
    assert.is(large.status, 0, large.out);
    const grown = large.peakMb - small.peakMb;
    const { seconds } = JSON.parse(large.out) as { seconds: number };
    console.log(
      `${FILE_MB} MB: ${Math.round(grown)} MB more than ${Math.round(small.peakMb)} MB, ${seconds} s, ${Math.round(listener.bytes() / 1e6)} MB sent`,
    );
    assert.ok(grown < MOST_MB, `${Math.round(grown)} MB`);
  } finally {
    await listener.close();
    await rm(home, { recursive: true });
  }
});

test.run();
