/** What does the proxy add, with capture on? Time to first byte at a fixed rate, and throughput beside its neighbours. */
import { Agent, request } from 'node:http';
import autocannon from 'autocannon';
import { emptyFolder, read, removeFolder, startService } from '../support/serve.ts';
import { heading, ms, percentiles, perSecond, row } from './figures.ts';
import { startPeer } from './peers.ts';

const RATE = 500; // requests a second
const RATE_SECONDS = 10;
const FULL_SECONDS = 20;
const path = '/v1/chat/completions';

export async function benchProxy(): Promise<void> {
  const folder = await emptyFolder();
  const upstream = await startPeer('upstream');
  const neighbour = await startPeer('http-proxy-3', upstream.url);
  const service = await startService(folder, { SVC_PROXY_UPSTREAMS_OPENAI: upstream.url, SVC_LOG_LEVEL: 'warn' });
  const routes = [
    { name: 'direct', url: upstream.url },
    { name: 'http-proxy-3, nothing captured', url: neighbour.url },
    { name: 'svc, capture on', url: `${service.proxy}/openai` },
  ];
  try {
    for (const { name, bytes } of [
      { name: 'small requests', bytes: 100 },
      { name: '190 KB requests', bytes: 190_000 },
    ]) {
      const body = bodyOf(bytes);
      const rate = bytes > 10_000 ? RATE / 5 : RATE;
      heading(`Time to first byte, 1 connection, ${rate}/s, ${name}`);
      const samples = routes.map((): number[] => []);
      for (let round = 0; round < RATE_SECONDS; round++) {
        for (const [i, { url }] of routes.entries())
          samples[i]?.push(...(await atFixedRate(`${url}${path}`, body, rate, 1)));
      }
      const direct = percentiles(samples[0] ?? []);
      row('', 'p50', 'p99', 'added p50', 'added p99');
      for (const [i, { name }] of routes.entries()) {
        const { p50, p99 } = percentiles(samples[i] ?? []);
        row(name, ms(p50), ms(p99), ms(p50 - direct.p50), ms(p99 - direct.p99));
      }
    }

    heading(`Throughput, 8 connections, small requests, ${FULL_SECONDS} s each`);
    const before = await requestsCounted(service.api);
    const rates: number[] = [];
    let sent = 0;
    for (const { name, url } of routes) {
      const result = await autocannon({
        url: `${url}${path}`,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: bodyOf(100),
        connections: 8,
        duration: FULL_SECONDS,
      });
      rates.push(result.requests.average);
      if (name.startsWith('svc')) sent = result['2xx'];
      row(name, perSecond(result.requests.average), `p50 ${result.latency.p50} ms`, `p99 ${result.latency.p99} ms`);
    }
    const started = Date.now();
    let counted = 0;
    for (let settled = 0; settled < 3; ) {
      const now = (await requestsCounted(service.api)) - before;
      settled = now === counted && now > 0 ? settled + 1 : 0;
      counted = now;
      await new Promise((done) => setTimeout(done, 500));
    }
    row('svc / http-proxy-3', `${((rates[2] ?? 0) / (rates[1] ?? 1)).toFixed(2)} x`);
    row(
      'answered by svc, counted after the drain',
      String(sent),
      String(counted),
      `${((Date.now() - started) / 1000).toFixed(0)} s drain`,
    );
  } finally {
    await service.stop();
    upstream.stop();
    neighbour.stop();
    await removeFolder(folder);
  }
}

const bodyOf = (bytes: number) =>
  JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'x'.repeat(Math.max(1, bytes - 70)) }] });

async function requestsCounted(api: string): Promise<number> {
  const { outcomes } = await read<{ outcomes: Record<string, number> }>(`${api}/v1/coverage`);
  return (outcomes.captured ?? 0) + (outcomes.partial ?? 0) + (outcomes.journal_full ?? 0);
}

/** Milliseconds from sending to the head of the answer; one connection, a request each 1/rate seconds, none while one is open. */
async function atFixedRate(url: string, body: string, rate: number, seconds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const samples: number[] = [];
  const start = performance.now();
  for (let n = 0; n < rate * seconds; n++) {
    const due = start + (n * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 1) await new Promise((done) => setTimeout(done, wait));
    const sent = performance.now();
    await new Promise<void>((done, fail) => {
      const call = request(url, {
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/json', 'content-length': body.length },
      });
      call.on('response', (response) => {
        samples.push(performance.now() - sent);
        response.resume();
        response.on('end', done);
      });
      call.on('error', fail);
      call.end(body);
    });
  }
  agent.destroy();
  return samples.slice(5); // the first ones open the connection
}
