/** How long is it to the first byte, at a fixed rate on one connection? */
import { Agent, request } from 'node:http';

export type Route = { name: string; url: string; headers?: Record<string, string> };

/** Milliseconds from sending to the head of the answer: a request each 1/rate seconds, none while one is open. */
export async function atFixedRate(
  { name, url, headers }: Route,
  body: string,
  rate: number,
  seconds: number,
): Promise<number[]> {
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
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
      });
      call.on('response', (response) => {
        if (response.statusCode !== 200) fail(new Error(`${name} answers ${response.statusCode}`));
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
