/** Replays the recorded calls of `fixtures/recordings` through a running proxy, against an upstream that answers as recorded. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

export type RecordedCall = {
  path: string;
  headers: [string, string][];
  body: Buffer;
  status: number;
  responseHeaders: [string, string][];
  response: Buffer; // as on the wire, gzip
};

const folder = () => resolve(process.env.SVC_FIXTURES ?? '../shared/fixtures', 'recordings');

/** In the order in which they were made; null where the fixtures are absent. */
export async function recordedCalls(): Promise<RecordedCall[] | null> {
  if (!existsSync(folder())) return null;
  const names = (await readdir(folder())).sort((a, b) => a.split('-')[2]?.localeCompare(b.split('-')[2] ?? '') ?? 0);
  return Promise.all(
    names.map(async (name) => {
      const recorded = JSON.parse(await readFile(join(folder(), name, 'request.json'), 'utf8')) as {
        url: string;
        headers: [string, string][];
        body_b64: string;
      };
      const meta = JSON.parse(await readFile(join(folder(), name, 'meta.json'), 'utf8')) as {
        status: number;
        response_headers: [string, string][];
      };
      const raw = await readFile(join(folder(), name, 'response.sse'));
      return {
        path: recorded.url.slice(recorded.url.indexOf('/v1/')),
        headers: recorded.headers
          .filter(([header]) => !/^(x-paper-|content-length)/.test(header))
          .map(([header, value]): [string, string] => [header.replace(/^x-tapes-/, 'x-svc-'), value]),
        body: Buffer.from(recorded.body_b64, 'base64'),
        status: meta.status,
        responseHeaders: meta.response_headers.filter(([header]) => header !== 'transfer-encoding'),
        response: raw[0] === 0x1f ? raw : gzipSync(raw), // stored decoded or as sent
      };
    }),
  );
}

/** An upstream that gives each recorded call its recorded answer, byte for byte. */
export async function startRecordedProvider(
  calls: readonly RecordedCall[],
): Promise<{ url: string; close(): Promise<void> }> {
  const answers = new Map(calls.map((call) => [call.body.toString('base64'), call]));
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const call = answers.get(Buffer.concat(chunks).toString('base64'));
    if (!call) {
      outgoing.writeHead(500).end('not recorded');
      return;
    }
    outgoing.writeHead(call.status, call.responseHeaders.flat());
    outgoing.end(call.response);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

/** Sends one recorded call to `base` and returns the unchanged bytes of the response. */
export const replay = (base: string, { path, headers, body }: RecordedCall): Promise<Buffer> =>
  new Promise((done, fail) => {
    const call = request(`${base}${path}`, { method: 'POST' }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => done(Buffer.concat(chunks)));
      response.on('error', fail);
    });
    for (const [name, value] of headers) if (!['host', 'connection'].includes(name)) call.setHeader(name, value);
    call.setHeader('content-length', body.byteLength);
    call.on('error', fail);
    call.end(body);
  });
