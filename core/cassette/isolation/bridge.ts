/** How does a cassette's process get at its bindings? It asks over a channel of its own, and is answered only what it was handed. */
import { constants, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Db, Log, Progress } from '../contract.ts';
import { progressOf } from '../progress.ts';
import type { Handed } from '../running.ts';
import { bodyOf, drained, headersFrom, headersOf, sendBody, textOf, wholeness } from './bodies.ts';
import { CHANNEL } from './channel.ts';
import { type Gate, OUTPUT_LIMITS, readOutput } from './output.ts';
import { openTurns, type Turns } from './turns.ts';

/** From now on, what it asks for is answered out of these. */
export type Hand = (handed: Handed) => void;

type Asked = IncomingHttpHeaders & { ':path'?: string | undefined; ':method'?: string | undefined };

const STATEMENT_BYTES = 8_388_608;
/** So many of these can be in memory at a time; those after them wait in the process that asks. */
const STATEMENTS_AT_ONCE = 8;
const ROWS_AT_ONCE_CHARS = 32_768;
const LOG_LINE_CHARS = 20_000;

type Options = {
  /** Bounds what it logs, together with what it prints. */
  gate: Gate;
  progressed(told: Progress): void;
};

export function openBridge(socket: Socket, { gate, progressed }: Options): Hand {
  let handed: Handed | undefined;
  const server = createServer({ ...CHANNEL, settings: { ...CHANNEL.settings, maxConcurrentStreams: 256 } });
  server.on('session', (session) => session.on('error', () => session.destroy()));
  const statements = openTurns(STATEMENTS_AT_ONCE);
  let logs = false;
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {}); // it has left
    const path = headers[':path'];
    if (path === '/log' && handed && !logs) {
      logs = true;
      readLog(stream, handed.LOG, gate);
    } else if (path === '/progress' && handed) {
      const told = progressIn(headers);
      if (told) progressed(told);
      stream.respond({ ':status': told ? 204 : 400 }, { endStream: true });
    } else answer(stream, headers, handed, statements).catch((error) => refuse(stream, error));
  });
  server.emit('connection', socket);
  return (bindings) => {
    handed = bindings;
  };
}

async function answer(
  stream: ServerHttp2Stream,
  headers: Asked,
  handed: Handed | undefined,
  statements: Turns,
): Promise<void> {
  const path = headers[':path'] ?? '';
  if (path === '/query' && handed?.DB) return query(stream, handed.DB, statements);
  if (path === '/stream' && handed?.DB) return sendRows(stream, await rowsOf(stream, handed.DB, statements));
  if (path.startsWith('/core/') && handed?.CORE) return askCore(stream, headers, path.slice(5), handed.CORE);
  throw new Error('Cannot use a binding that was not granted');
}

async function query(stream: ServerHttp2Stream, db: Db, statements: Turns): Promise<void> {
  await statements.take();
  try {
    const { sql, parameters, options } = await statementOf(stream);
    const rows = JSON.stringify(await db.query(sql, parameters, options));
    if (stream.closed) return;
    stream.respond({ ':status': 200 });
    stream.end(rows);
  } finally {
    statements.leave();
  }
}

/** Its turn ends with its statement: one that asks for more while it reads rows would wait for itself. */
async function rowsOf(stream: ServerHttp2Stream, db: Db, statements: Turns): Promise<AsyncIterable<unknown>> {
  await statements.take();
  try {
    const { sql, parameters, options } = await statementOf(stream);
    return db.stream(sql, parameters, options);
  } finally {
    statements.leave();
  }
}

type Statement = { sql: string; parameters: unknown[]; options: object };

async function statementOf(stream: ServerHttp2Stream): Promise<Statement> {
  const asked = JSON.parse(await textOf(stream, STATEMENT_BYTES)) as Statement;
  if (typeof asked.sql !== 'string' || !Array.isArray(asked.parameters)) throw new Error('Cannot read the statement');
  return asked;
}

/** `r` and a row on each line, `e` and what went wrong, or `.` at the end: an answer without one broke off. */
async function sendRows(stream: ServerHttp2Stream, rows: AsyncIterable<unknown>): Promise<void> {
  const left = new AbortController();
  stream.once('close', () => left.abort());
  if (stream.closed) return;
  stream.respond({ ':status': 200 });
  let lines = '';
  const flush = (): boolean => {
    const written = lines === '' || stream.closed || stream.write(lines);
    lines = '';
    return written;
  };
  let soon: NodeJS.Immediate | undefined;
  try {
    for await (const row of rows) {
      if (left.signal.aborted) return;
      lines += `r${JSON.stringify(row)}\n`;
      if (lines.length > ROWS_AT_ONCE_CHARS) {
        if (!flush()) await drained(stream, left.signal);
      } else {
        soon ??= setImmediate(() => {
          soon = undefined;
          flush();
        });
      }
    }
    lines += '.\n';
  } catch (error) {
    lines += `e${JSON.stringify(told(error))}\n`;
  } finally {
    clearImmediate(soon);
  }
  flush();
  stream.end();
}

async function askCore(
  stream: ServerHttp2Stream,
  headers: Asked,
  path: string,
  core: NonNullable<Handed['CORE']>,
): Promise<void> {
  const left = new AbortController();
  const gone = () => new DOMException('The cassette has left', 'AbortError');
  let answered = false;
  stream.once('close', () => {
    if (!answered) left.abort(gone());
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
  else await sendBody(response.body, stream);
  answered = true;
}

function progressIn(headers: Asked): Progress | null {
  try {
    return progressOf(JSON.parse(`${headers['svc-progress']}`));
  } catch {
    return null;
  }
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Its lines, as long as it has some, at the pace of what it prints. */
function readLog(stream: ServerHttp2Stream, log: Log, gate: Gate): void {
  stream.respond({ ':status': 200 });
  const limits = { ...OUTPUT_LIMITS, lineChars: LOG_LINE_CHARS };
  readOutput(stream, { log: (line) => logLine(line, log), gate, limits });
  stream.once('end', () => stream.end());
}

function logLine(line: string, log: Log): void {
  try {
    const { level, fields, message } = JSON.parse(line);
    const known = LEVELS.find((name) => name === level) ?? 'info';
    log[known](typeof fields === 'object' && fields !== null ? fields : {}, `${message}`);
  } catch {
    log.warn({}, 'it wrote a line to its log that cannot be read');
  }
}

/** What of an error the cassette learns: of a statement PostgreSQL's own words, which is the contract of `DB`. */
function told(error: unknown): object {
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
  stream.end(JSON.stringify(told(error)));
  stream.close(constants.NGHTTP2_NO_ERROR); // when that is sent: it reads no more
}
