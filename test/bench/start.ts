/** How soon each listener answers after the command, on an empty folder and on a filled one, and how soon the service has stopped. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildService } from '../support/built-service.ts';
import { freePort } from '../support/free-port.ts';
import { emptyFolder, removeFolder } from '../support/serve.ts';
import { bounded, heading, median, row, wholeMs } from './figures.ts';

const ROUNDS = 5;
const BARS = { first: { proxy: 400, apis: 2_500 }, warm: { proxy: 400, apis: 1_000 }, stop: 2_000 }; // milliseconds
const POLL_MS = 5;

type Times = { proxy: number; api: number; ingest: number; stop: number };

export async function benchStart(): Promise<void> {
  const built = await emptyFolder();
  try {
    const program = await buildService(join(built, 'package'));
    const first: Times[] = [];
    const warm: Times[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const folder = await emptyFolder();
      first.push(await startAndStop(program, folder));
      warm.push(await startAndStop(program, folder));
      await removeFolder(folder);
    }
    const middle = (all: readonly Times[], name: keyof Times) => median(all.map((times) => times[name]));
    for (const [name, all] of [
      ['first', first],
      ['warm', warm],
    ] as const) {
      heading(name === 'first' ? 'Start in an empty folder' : 'Start in a folder that has a database');
      bounded('the proxy answers', middle(all, 'proxy'), BARS[name].proxy);
      bounded('the read API answers', middle(all, 'api'), BARS[name].apis);
      bounded('the ingest API answers', middle(all, 'ingest'), BARS[name].apis);
      row(
        'slowest listener of each round',
        ...all.map((times) => wholeMs(Math.max(times.proxy, times.api, times.ingest))),
      );
    }
    heading('Stop, nothing under way');
    bounded('all processes have ended', median([...first, ...warm].map(({ stop }) => stop)), BARS.stop);
  } finally {
    await removeFolder(built);
  }
}

async function startAndStop(program: string, folder: string): Promise<Times> {
  const [proxy, api, ingest] = [await freePort(), await freePort(), await freePort()];
  const listen = { SVC_PROXY_LISTEN: `:${proxy}`, SVC_API_LISTEN: `:${api}`, SVC_INGEST_LISTEN: `:${ingest}` };
  const from = performance.now();
  const service = spawn(process.execPath, [program, 'serve'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, SVC_LOG_LEVEL: 'silent', ...listen },
    stdio: 'ignore',
  });
  const after = async (port: number) => {
    while (!(await answers(port))) {
      if (service.exitCode !== null) throw new Error(`svc ended with ${service.exitCode} before it answered`);
      await sleep(POLL_MS);
    }
    return performance.now() - from;
  };
  const [proxyMs, apiMs, ingestMs] = await Promise.all([after(proxy), after(api), after(ingest)]);
  await sleep(2_000); // what it does behind its listeners is done
  const signalledAt = performance.now();
  service.kill('SIGTERM');
  await once(service, 'exit');
  return { proxy: proxyMs, api: apiMs, ingest: ingestMs, stop: performance.now() - signalledAt };
}

/** Whatever the answer is: the proxy passes every path on. */
const answers = (port: number): Promise<boolean> =>
  new Promise((done) => {
    request({ host: '127.0.0.1', port, path: '/ping' }, (response) => response.resume().on('end', () => done(true)))
      .on('error', () => done(false))
      .end();
  });
