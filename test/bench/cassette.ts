/** What do others notice of a cassette that misbehaves? The session list beside each kind of it, against the same list beside a good one. */
import { writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { cassetteFolder } from '../support/cassette-folder.ts';
import { emptyFolder, eventually, removeFolder, startService } from '../support/serve.ts';
import { heading, ms, percentiles, row } from './figures.ts';

const RATE = 100; // requests a second
const SECONDS = 15;

/** What it does when it is asked for /api/bad/go. */
const HOSTILE: Record<string, string> = {
  'loops for ever': 'for (;;);',
  'runs out of memory': 'const all = []; for (;;) all.push(new Array(1e5).fill(Math.random()));',
  'calls process.exit': 'process.exit(7);',
  'leaves a rejection unhandled': "Promise.reject(new Error('nobody waits'));",
  'floods its output': "for (;;) { console.log('x'.repeat(10_000)); await new Promise((go) => setImmediate(go)); }",
};

export async function benchCassette(): Promise<void> {
  heading(`GET /v1/sessions at ${RATE}/s beside a cassette in a process of its own, ${SECONDS} s each`);
  row('', 'p50', 'p99', 'p99 of quiet');
  const quiet = await beside('');
  row('a good cassette, asked now and then', ms(quiet.p50), ms(quiet.p99), '1.00');
  for (const [what, go] of Object.entries(HOSTILE)) {
    const { p50, p99 } = await beside(go);
    row(`one that ${what}`, ms(p50), ms(p99), (p99 / quiet.p99).toFixed(2));
  }
  await benchMount();
}

async function beside(go: string): Promise<{ p50: number; p99: number }> {
  const folder = await emptyFolder();
  try {
    await cassetteFolder({ name: 'bad', before: `if (path === '/api/bad/go') { ${go} }` }, join(folder, 'bad'));
    const service = await served(folder);
    try {
      await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' });
      await latencies(`${service.api}/v1/sessions`, 3); // warm
      const provoking = setInterval(() => void fetch(`${service.api}/v1/cassettes/bad/go`).catch(() => {}), 500);
      const samples = await latencies(`${service.api}/v1/sessions`, SECONDS);
      clearInterval(provoking);
      return percentiles(samples);
    } finally {
      await service.stop();
    }
  } finally {
    await removeFolder(folder);
  }
}

async function served(folder: string) {
  const list = { cassettes: [{ name: 'bad', source: './bad' }] };
  await writeFile(join(folder, 'cassette.manifest.json'), JSON.stringify(list));
  const service = await startService(folder, { SVC_LOG_LEVEL: 'error' });
  await eventually('the cassette is in', async () => (await fetch(`${service.api}/v1/cassettes/bad/hello`)).ok);
  return service;
}

/** Of requests that begin at a fixed rate, whether or not the ones before were answered. Throws at the first that is not 200. */
async function latencies(url: string, seconds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const pending: Promise<number>[] = [];
  for (let i = 0; i < RATE * seconds; i++) {
    pending.push(latency(url, agent));
    await new Promise((resolve) => setTimeout(resolve, 1000 / RATE));
  }
  const samples = await Promise.all(pending);
  agent.destroy();
  return samples;
}

const latency = (url: string, agent: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    get(url, { agent }, (answer) => {
      answer.resume();
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(performance.now() - began);
        else reject(new Error(`Cannot measure: ${url} answered ${answer.statusCode}`));
      });
    }).on('error', reject);
  });

/** How fast does a large answer pass, and how soon does it begin? */
async function benchMount(): Promise<void> {
  const folder = await emptyFolder();
  try {
    await cassetteFolder({ name: 'bad' }, join(folder, 'bad'));
    const service = await served(folder);
    try {
      heading('100 MB of NDJSON through the mount');
      row('', 'first byte', 'MB/s');
      for (let i = 0; i < 3; i++) {
        const began = performance.now();
        let first = 0;
        let bytes = 0;
        for await (const chunk of (await fetch(`${service.api}/v1/cassettes/bad/lines?count=100000`)).body ?? []) {
          if (bytes === 0) first = performance.now() - began;
          bytes += chunk.byteLength;
        }
        row(`run ${i + 1}`, ms(first), (bytes / 1e6 / ((performance.now() - began) / 1000)).toFixed(0));
      }
    } finally {
      await service.stop();
    }
  } finally {
    await removeFolder(folder);
  }
}
