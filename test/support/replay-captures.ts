/** Replays what real clients sent, out of `fixtures/clients`, through a running proxy, against an upstream that answers as recorded. */
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { fixtureFolder } from './fixtures.ts';
import { type Answering, type ScriptedUpstream, send, startUpstream } from './upstream.ts';

export type Capture = {
  /** Its file without ending: `claude-agent-002`. */
  name: string;
  /** Its file without number and ending: `claude`, `codex-agent`, … */
  client: string;
  method: string;
  /** The path that the client would send here: with the prefix of its provider, or bare. */
  path: string;
  /** The path that the provider gets. */
  url: string;
  /** As recorded, in order and in case, except `host` and `content-length`, which follow from target and body. */
  headers: [name: string, value: string][];
  body: Buffer;
  response: { status: number; contentType: string; body: Buffer };
};

type Recorded = {
  method: string;
  url: string;
  headers: Record<string, string>;
  rawHeaderNames: string[];
  body: unknown; // parsed where it was JSON, else its text
  response: { status: number; contentType: string; body: string };
};

/** In the order of their file names, which is the order in which each client made them; null where the fixtures are absent. */
export function capturedCalls(): Capture[] | null {
  const folder = fixtureFolder('clients');
  if (!folder) return null;
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return names.sort().map((file) => {
    const { method, url, headers, rawHeaderNames, body, response } = JSON.parse(
      readFileSync(join(folder, file), 'utf8'),
    ) as Recorded;
    const name = file.replace(/\.json$/, '');
    const client = name.replace(/-\d+$/, '');
    return {
      name,
      client,
      method,
      path: `${prefixOf(client, url)}${url}`,
      url,
      headers: rawHeaderNames.map((raw): [string, string] => [raw, headers[raw.toLowerCase()] ?? '']),
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      response: { status: response.status, contentType: response.contentType, body: Buffer.from(response.body) },
    };
  });
}

/** The base path that the client would be configured with. */
function prefixOf(client: string, url: string): string {
  if (client.startsWith('claude') || url.startsWith('/v1/messages')) return '/anthropic';
  if (url.startsWith('/api/')) return '/ollama';
  return url.startsWith('/v1/') ? '/openai' : '/gemini';
}

/** An upstream that answers each capture with its recorded response, to the byte, and records the requests. */
export async function startCaptureProvider(captures: readonly Capture[]): Promise<ScriptedUpstream> {
  const answers = new Map(captures.map((capture) => [keyOf(capture), capture.response]));
  const answering: Answering = async (request, outgoing) => {
    await request.whole;
    const found = answers.get(keyOf(request));
    if (!found) return send(outgoing, { status: 500, body: '{"error":"not recorded"}' });
    const length = String(found.body.byteLength);
    send(outgoing, {
      status: found.status,
      rawHeaders: ['Content-Type', found.contentType, 'Content-Length', length],
      body: found.body,
    });
  };
  return startUpstream(() => answering);
}

const keyOf = ({ method, url, body }: { method: string; url: string; body: Buffer }) =>
  `${method} ${url} ${body.toString('base64')}`;

export type Answered = { status: number; contentType: string | undefined; body: Buffer };

/** The headers of a capture for `host`: `host` and `content-length` are current, everything else is as recorded. */
export const sentHeaders = ({ headers, body }: Capture, host: string): [name: string, value: string][] =>
  headers.map(([name, value]) => {
    if (/^host$/i.test(name)) return [name, host];
    return [name, /^content-length$/i.test(name) ? String(body.byteLength) : value]; // paths were shortened in some bodies
  });

/** Sends a capture to the proxy at `base` and returns the response. */
export const sendCapture = (base: string, capture: Capture): Promise<Answered> =>
  new Promise((done, fail) => {
    const { hostname, port, host } = new URL(base);
    const { method, path, body } = capture;
    const headers = sentHeaders(capture, host).flat();
    const call = request({ hostname, port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () =>
        done({
          status: response.statusCode ?? 0,
          contentType: response.headers['content-type'],
          body: Buffer.concat(chunks),
        }),
      );
    });
    call.on('error', fail);
    call.end(body);
  });

/** Sends the captures one after the other, as the clients did. The responses are in the same order. */
export async function replayInTurn(base: string, captures: readonly Capture[]): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (const capture of captures) answers.push(await sendCapture(base, capture));
  return answers;
}

/** All clients at once, each waiting for its own answers: the first call of each, the last client's before the others', then the second … */
export async function replayInterleaved(base: string, captures: readonly Capture[]): Promise<void> {
  const rounds: Capture[][] = [];
  const made = new Map<string, number>();
  for (const capture of captures) {
    const round = made.get(capture.client) ?? 0;
    made.set(capture.client, round + 1);
    rounds[round] = [capture, ...(rounds[round] ?? [])];
  }
  for (const round of rounds) await Promise.all(round.map((capture) => sendCapture(base, capture)));
}
