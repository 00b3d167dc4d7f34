/** A proxy on a free port before a scripted upstream, with a journal that remembers instead of writing. */
import { Socket } from 'node:net';
import pino from 'pino';
import type { CallClosed, CallOpened, OutcomeRecord, ResponseHead } from '../../core/capture/journal-format.ts';
import { Config } from '../../core/config/schema.ts';
import type { FormatId } from '../../core/provider/formats.ts';
import { forEachProvider, type ProviderId } from '../../core/provider/provider-ids.ts';
import type { ProxyDeps } from '../../proxy/app.ts';
import { noEgress } from '../../proxy/egress.ts';
import { type RunningProxy, startProxy } from '../../proxy/listen.ts';
import { openUpstreams } from '../../proxy/upstream.ts';
import { type Script, type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

export type Kept = {
  opened: CallOpened;
  requestChunks: Buffer[];
  answered: ResponseHead | null;
  replied: Buffer[];
  closed: CallClosed | null;
};

export type Stand = {
  upstream: ScriptedUpstream;
  proxy: RunningProxy;
  port: number;
  kept: Kept[];
  recorded: OutcomeRecord[];
  counted: string[];
  ttfb: number[];
  /** Resolves when `number` requests have their outcome. */
  outcomes(number: number): Promise<string[]>;
  close(): Promise<void>;
};

type Options = {
  proxy?: Record<string, unknown>;
  capture?: Record<string, unknown>;
  api?: Record<string, unknown>;
  journalFull?: boolean;
  deps?: Partial<ProxyDeps>;
  basePath?: string;
  upstreamUrl?: string;
};

/** The bare paths are Anthropic's; all providers lead to the one upstream. */
export async function openStand(script: Script, options: Options = {}): Promise<Stand> {
  const upstream = await startUpstream(script);
  const url = options.upstreamUrl ?? `${upstream.url}${options.basePath ?? ''}`;
  const kept: Kept[] = [];
  const recorded: OutcomeRecord[] = [];
  const counted: string[] = [];
  const ttfb: number[] = [];
  const upstreams = openUpstreams(noEgress);
  let ids = 0;
  const config = Config.parse({
    proxy: { provider: 'anthropic', upstreams: forEachProvider(() => url), ...options.proxy },
    capture: options.capture ?? {},
    api: options.api ?? {},
  });
  const proxy = await startProxy(
    {
      config,
      upstreams,
      journal: {
        open: (opened) => (options.journalFull ? null : remember(kept, opened)),
        recordOutcome: (entry) => recorded.push(entry),
      },
      formatOf: (method, path) => formatOf(method, path),
      formerKey: null,
      refuse: () => null,
      count: (provider: ProviderId, outcome) => counted.push(`${provider} ${outcome}`),
      addedTtfb: (seconds) => ttfb.push(seconds),
      now: () => '2026-11-21T09:30:00.000000Z',
      newId: () => `call-${++ids}`,
      log: pino({ level: 'silent' }),
      ...options.deps,
    },
    { hosts: ['127.0.0.1'], port: 0 },
  );
  const { port } = new URL(proxy.addresses[0] as string);
  const stand: Stand = {
    upstream,
    proxy,
    port: Number(port),
    kept,
    recorded,
    counted,
    ttfb,
    async outcomes(number) {
      await until(() => counted.length >= number);
      return counted;
    },
    async close() {
      await proxy.close(0);
      upstreams.close();
      await upstream.close();
    },
  };
  opened.add(stand);
  return stand;
}

const opened = new Set<Stand>();

/** After each test: also one that failed leaves nothing running. */
export async function closeStands(): Promise<void> {
  await Promise.all([...opened].map((stand) => stand.close()));
  opened.clear();
}

const formatOf = (method: string, path: string): { id: FormatId } | null => {
  if (method !== 'POST') return null;
  if (/\/messages$/.test(path)) return { id: 'anthropic.messages' };
  return /\/chat\/completions$/.test(path) ? { id: 'openai.chat' } : null;
};

function remember(kept: Kept[], opened: CallOpened) {
  const call: Kept = { opened, requestChunks: [], answered: null, replied: [], closed: null };
  kept.push(call);
  return {
    requestBytes: (bytes: Uint8Array) => call.requestChunks.push(Buffer.from(bytes)) > 0,
    responseHead: (head: ResponseHead) => {
      call.answered = head;
    },
    responseBytes: (bytes: Uint8Array) => call.replied.push(Buffer.from(bytes)) > 0,
    close: (closed: CallClosed) => {
      if (call.closed) throw new Error('Cannot close a call twice: it is closed');
      call.closed = closed;
    },
  };
}

/** Waits for a fact, for as long as a slow machine may need. */
export async function until(fact: () => boolean, what = 'what was waited for'): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!fact()) {
    if (Date.now() > deadline) throw new Error(`Cannot go on: ${what} did not happen within 30 s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export type RawClient = {
  socket: Socket;
  received(): Buffer;
  write(bytes: string | Uint8Array): void;
  /** Resolves once the answer so far contains `text`. */
  sees(text: string): Promise<void>;
  closed: Promise<void>;
  isClosed(): boolean;
};

/** A client that writes and reads bytes, and knows nothing of HTTP. */
export async function rawClient(port: number, bytes: string | Uint8Array = ''): Promise<RawClient> {
  const socket = new Socket();
  const chunks: Buffer[] = [];
  let over = false;
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) =>
    socket.on('close', () => {
      over = true;
      resolve();
    }),
  );
  await new Promise<void>((resolve) => socket.connect(port, '127.0.0.1', resolve));
  const received = () => Buffer.concat(chunks);
  const write = (more: string | Uint8Array) => socket.write(Buffer.from(more as string, 'latin1'));
  write(bytes);
  return {
    socket,
    received,
    write,
    sees: (text) => until(() => received().includes(text, 0, 'latin1'), `'${text}'`),
    closed,
    isClosed: () => over,
  };
}

/** Sends one request with `Connection: close` among its headers and gives all that came back. */
export async function answerTo(port: number, bytes: string | Uint8Array): Promise<Buffer> {
  const client = await rawClient(port, bytes);
  await client.closed;
  return client.received();
}

/** An answer's head in lines, and its body with the chunks' framing undone. */
export function readAnswer(bytes: Buffer): { status: string; headers: string[]; body: Buffer } {
  const end = bytes.indexOf('\r\n\r\n');
  const [status = '', ...headers] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const rest = bytes.subarray(end + 4);
  const chunked = headers.some((line) => /^transfer-encoding: chunked$/i.test(line));
  return { status, headers, body: chunked ? unchunked(rest) : rest };
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
