/** Serves a cassette's process its bindings, over a channel of their own: the process can use only what it was granted. */
import { constants, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { parseJson } from '../../parse-json.ts';
import { openSemaphore, type Semaphore } from '../../semaphore.ts';
import type { Log, Progress } from '../contract.ts';
import type { Bindings } from '../running.ts';
import { bodyOf, headersFrom, headersOf, sendBody, wholeness } from './child/bodies.mjs';
import { openStreams } from './child/cancel-exchange.mjs';
import { LIMITS } from './child/limits.mjs';
import { progressOf } from './child/progress.mjs';
import { type Gate, OUTPUT_LIMITS, readOutput } from './output.ts';
import { openRowAnswers, type RowAnswers } from './row-answers.ts';

/** Sets the bindings with which the process's requests are served from now on. */
export type SetBindings = (bindings: Bindings) => void;

type RequestHeaders = IncomingHttpHeaders & { ':path'?: string | undefined; ':method'?: string | undefined };

/** Limit of concurrent requests to the read API; one counts until its response has been read. */
const CORE_AT_ONCE = 32;
/** How long a response may wait without anything of it being read. */
const IDLE_MS = 60_000;
const LOG_LINE_CHARS = 20_000;

type Options = {
  /** Limits what it logs, together with what it prints. */
  gate: Gate;
  progressed(progress: Progress): void;
  idleMs?: number;
};

type Answers = { rows: RowAnswers; core: Semaphore; idleMs: number };

export function openBridge(socket: Socket, { gate, progressed, idleMs = IDLE_MS }: Options): SetBindings {
  let bindings: Bindings | undefined;
  const server = createServer({ ...LIMITS, settings: { ...LIMITS.settings, maxConcurrentStreams: 256 } });
  server.on('session', (session) => session.on('error', () => session.destroy()));
  const answers: Answers = { rows: openRowAnswers({ idleMs, errorBody }), core: openSemaphore(CORE_AT_ONCE), idleMs };
  let logs = false;
  const streams = openStreams();
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {}); // the process has cancelled it
    streams.add(stream);
    const path = headers[':path'];
    if (path === '/log' && bindings && !logs) {
      logs = true;
      readLog(stream, bindings.LOG, gate);
    } else if (path === '/progress' && bindings) {
      const progress = progressIn(headers);
      if (progress) progressed(progress);
      stream.respond({ ':status': progress ? 204 : 400 }, { endStream: true });
    } else if (path === '/cancel') streams.cancel(stream, headers);
    else answer(stream, headers, bindings, answers).catch((error) => refuse(stream, error));
  });
  server.emit('connection', socket);
  return (granted) => {
    bindings = granted;
  };
}

async function answer(
  stream: ServerHttp2Stream,
  headers: RequestHeaders,
  bindings: Bindings | undefined,
  { rows, core, idleMs }: Answers,
): Promise<void> {
  const path = headers[':path'] ?? '';
  if (path === '/query' && bindings?.DB) return rows.query(stream, bindings.DB);
  if (path === '/stream' && bindings?.DB) return rows.stream(stream, bindings.DB);
  if (path.startsWith('/core/') && bindings?.CORE) {
    await core.acquire();
    return forwardToCore(stream, headers, { path: path.slice(5), core: bindings.CORE, idleMs }).finally(core.release);
  }
  throw new Error('Cannot use a binding that was not granted');
}

async function forwardToCore(
  stream: ServerHttp2Stream,
  headers: RequestHeaders,
  { path, core, idleMs }: { path: string; core: NonNullable<Bindings['CORE']>; idleMs: number },
): Promise<void> {
  if (stream.closed) return;
  const left = new AbortController();
  const gone = () => new DOMException('The cassette has left', 'AbortError');
  let hasResponse = false;
  stream.once('close', () => {
    if (!hasResponse) left.abort(gone());
  });
  const body = stream.endAfterHeaders
    ? null
    : bodyOf(stream, { whole: wholeness(stream), broken: gone, unwanted: () => stream.resume() });
  const request = new Request(`http://core${path}`, {
    method: headers[':method'] ?? 'GET',
    headers: headersFrom(headers),
    signal: left.signal,
    ...(body === null ? {} : { body, duplex: 'half' }),
  } as RequestInit);
  const response = await core.fetch(request);
  if (stream.closed) {
    await response.body?.cancel();
    return;
  }
  const empty = response.body === null || request.method === 'HEAD';
  stream.respond(
    { ':status': response.status, ...headersOf(response.headers) },
    { endStream: empty, waitForTrailers: !empty },
  );
  if (empty) await response.body?.cancel();
  else await sendBody(response.body, stream, idleMs);
  hasResponse = true;
}

function progressIn(headers: RequestHeaders): Progress | null {
  try {
    return progressOf(JSON.parse(`${headers['svc-progress']}`));
  } catch {
    return null;
  }
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Reads its log lines until their end, under the same limits as its output. */
function readLog(stream: ServerHttp2Stream, log: Log, gate: Gate): void {
  stream.respond({ ':status': 200 });
  const limits = { ...OUTPUT_LIMITS, lineChars: LOG_LINE_CHARS };
  readOutput(stream, { log: (line) => logLine(line, log), gate, limits });
  stream.once('end', () => stream.end());
}

function logLine(line: string, log: Log): void {
  try {
    const { level, fields, message } = parseJson(line) as {
      level: unknown;
      fields: Record<string, unknown> | null;
      message: unknown;
    };
    const known = LEVELS.find((name) => name === level) ?? 'info';
    log[known](typeof fields === 'object' && fields !== null ? fields : {}, `${message}`);
  } catch {
    log.warn({}, 'it wrote a line to its log that cannot be read');
  }
}

/** An error as the cassette gets it: for a statement with PostgreSQL's own message, as the contract of `DB` promises. */
function errorBody(error: unknown): object {
  if (!(error instanceof Error)) return { name: 'Error', message: 'Cannot answer' };
  const { name, message, sqlstate, transient } = error as Error & { sqlstate?: unknown; transient?: unknown };
  return { name, message, ...(typeof sqlstate === 'string' ? { sqlstate, transient: transient === true } : {}) };
}

function refuse(stream: ServerHttp2Stream, error: unknown): void {
  if (stream.closed) return;
  if (stream.headersSent) {
    stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    return;
  }
  stream.respond({ ':status': 500, 'svc-broken': 'threw' });
  stream.end(JSON.stringify(errorBody(error)));
  stream.close(constants.NGHTTP2_NO_ERROR); // after that is sent: the rest of the request is not read
}
