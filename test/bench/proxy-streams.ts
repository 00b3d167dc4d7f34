/** Do many streams at once come as they were sent, and how evenly? And what memory does that take? */
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { APART_MS, DELTAS, frame } from './peers-upstream.ts';
import type { Route } from './proxy-rate.ts';

const STREAMS = 200;

export type Streamed = {
  /** Frames that came byte for byte. */
  equal: number;
  frames: number;
  /** Milliseconds between the ends of neighbouring frames. */
  gaps: number[];
  /** Most that the processes held at once. */
  rssMb: number;
};

/** @param pid whose memory is looked at, with its children's */
export async function streamThrough(route: Route, pid: number): Promise<Streamed> {
  let rssMb = rssOf(pid);
  const looking = setInterval(() => {
    rssMb = Math.max(rssMb, rssOf(pid));
  }, 250);
  const all = await Promise.all(
    Array.from({ length: STREAMS }, async (_, i) => {
      await new Promise((begin) => setTimeout(begin, i)); // so that their frames are not all due at once
      return oneStream(route, `s${i}`);
    }),
  );
  clearInterval(looking);
  return {
    equal: all.reduce((sum, { equal }) => sum + equal, 0),
    frames: STREAMS * (DELTAS + 1),
    gaps: all.flatMap(({ gaps }) => gaps),
    rssMb,
  };
}

/** As what the frames are due, for a heading. */
export const streamsHeading = `${STREAMS} streams × ${DELTAS} deltas, ${APART_MS} ms apart`;

function oneStream({ name, url, headers }: Route, id: string): Promise<{ equal: number; gaps: number[] }> {
  const body = JSON.stringify({
    model: 'gpt-4o-mini',
    stream: true,
    user: id,
    messages: [{ role: 'user', content: 'Stream' }],
  });
  const expected = Array.from({ length: DELTAS + 1 }, (_, n) => Buffer.from(frame(id, n)));
  const ends: number[] = [];
  for (const bytes of expected) ends.push((ends.at(-1) ?? 0) + bytes.length);
  return new Promise((done, fail) => {
    const call = request(url, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers },
    });
    call.on('error', fail);
    call.on('response', (response) => {
      if (response.statusCode !== 200) fail(new Error(`${name} answers ${response.statusCode}`));
      const chunks: Buffer[] = [];
      const cameAt: number[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        const now = performance.now();
        chunks.push(chunk);
        length += chunk.length;
        while (length >= (ends[cameAt.length] ?? Infinity)) cameAt.push(now);
      });
      response.on('error', fail);
      response.on('end', () => {
        const came = Buffer.concat(chunks);
        const equal = expected.filter((bytes, n) =>
          bytes.equals(came.subarray((ends[n] ?? 0) - bytes.length, ends[n])),
        );
        done({ equal: equal.length, gaps: cameAt.slice(1).map((at, n) => at - (cameAt[n] ?? at)) });
      });
    });
    call.end(body);
  });
}

/** Megabytes resident, of a process and what it started; NaN where there is no /proc. */
function rssOf(pid: number): number {
  try {
    const own = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
    );
    return children.reduce((sum, child) => sum + rssOf(Number(child)), own);
  } catch {
    return Number.NaN;
  }
}
