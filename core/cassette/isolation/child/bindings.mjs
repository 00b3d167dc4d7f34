/** The bindings in a cassette's process: database, read API and log, each a client of the service. */
import { connect } from 'node:http2';
import { bodyOf, headersFrom, headersOf, sendBody, textOf, wholeness } from './bodies.mjs';
import { cancelExchange } from './cancel-exchange.mjs';
import { CHANNEL_BROKE, GONE, LIMITS } from './limits.mjs';
import { parseJson } from './parse-json.mjs';
import { progressReporter } from './progress.mjs';
import { statementBody } from './statement.mjs';

const LOG_AHEAD_BYTES = 262_144;
const LOG_LINE_CHARS = 16_000;

/** @param {import('node:net').Socket} socket */
export function openBindings(socket) {
  const { exit } = process;
  const session = connect('http://svc', { ...LIMITS, createConnection: () => socket });
  session.on('error', () => exit(CHANNEL_BROKE));
  session.once('close', () => exit(CHANNEL_BROKE));
  return {
    /** @param {{ config: object, db: boolean, core: boolean }} handed */
    env: ({ config, db, core }) => ({
      ...(db ? { DB: database(session) } : {}),
      ...(core ? { CORE: { fetch: coreFetch(session) } } : {}),
      CONFIG: config,
      LOG: log(session),
    }),
    progress: progressReporter((json) =>
      session.request({ ':method': 'POST', ':path': '/progress', 'svc-progress': json }, { endStream: true }),
    ),
  };
}

/** @typedef {import('node:http2').ClientHttp2Session} Session */

/** @param {Session} session */
function log(session) {
  const lines = session.request({ ':method': 'POST', ':path': '/log' });
  lines.on('error', () => {});
  lines.resume();
  let dropped = 0;
  lines.on('drain', () => {
    if (dropped > 0) lines.write(`${line('warn', { dropped }, 'it logs more than is kept: lines were left out')}\n`);
    dropped = 0;
  });
  const at = (/** @type {string} */ level) => (/** @type {object} */ fields, /** @type {unknown} */ message) => {
    if (lines.writableLength > LOG_AHEAD_BYTES) {
      dropped += 1; // it logs faster than the service reads
      return;
    }
    lines.write(`${line(level, fields, String(message ?? ''))}\n`);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function line(level, fields, message) {
  const cut = message.slice(0, 2_000);
  try {
    const written = JSON.stringify({ level, fields, message: cut }, exact);
    if (written.length <= LOG_LINE_CHARS) return written;
  } catch {} // a cycle
  return JSON.stringify({ level, fields: { fields_left_out: true }, message: cut });
}

const exact = (_key, value) => (typeof value === 'bigint' ? String(value) : value);

/** @param {Session} session */
function database(session) {
  const send = (path, sql, parameters = [], options = {}) => {
    const body = statementBody(sql, parameters, options);
    const request = session.request({ ':method': 'POST', ':path': path });
    request.end(body);
    return request;
  };
  return {
    async query(sql, parameters, options) {
      const request = send('/query', sql, parameters, options);
      const [headers, text] = await Promise.all([responseHead(request), textOf(request, { broke: GONE })]);
      if (headers[':status'] !== 200) throw failure(text);
      const { rows, changed } = parseJson(text);
      return { rows, row_count: changed ?? rows.length };
    },
    async *stream(sql, parameters, options) {
      const request = send('/stream', sql, parameters, options);
      const headers = await responseHead(request);
      if (headers[':status'] !== 200) throw failure(await textOf(request, { broke: GONE }));
      let whole = false;
      try {
        for await (const { kind, text } of frames(request)) {
          whole = kind !== 'r';
          if (kind === '.') return;
          if (kind === 'e') throw failure(text);
          yield* parseJson(`[${text}]`);
        }
      } finally {
        if (whole) request.resume();
        else cancelExchange(session, request, CANCEL);
      }
      throw failure(JSON.stringify(DATABASE_GONE));
    },
  };
}

const CANCEL = { ':path': '/cancel' };

/** Frames as row-answers.ts sends them: a line with a kind and a length, then that many characters of text. */
async function* frames(request) {
  request.setEncoding('utf8');
  let head = ''; // the line of a frame, as far as it has come
  let frame = null;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    for (let at = 0; at < chunk.length || frame?.left === 0; ) {
      if (frame === null) {
        const end = chunk.indexOf('\n', at);
        head += chunk.slice(at, end === -1 ? undefined : end);
        at = end === -1 ? chunk.length : end + 1;
        if (end === -1) continue;
        frame = { kind: head[0], left: Number(head.slice(1)), text: '' };
        head = '';
      }
      const piece = chunk.slice(at, at + frame.left);
      frame.text += piece;
      frame.left -= piece.length;
      at += piece.length;
      if (frame.left > 0) continue;
      yield frame;
      frame = null;
    }
  }
}

const DATABASE_GONE = {
  name: 'DatabaseError',
  message: 'Cannot ask the database: the service has gone',
  sqlstate: '',
  transient: true,
};

function failure(text) {
  const { name, message, sqlstate, transient } = JSON.parse(text);
  return Object.assign(new Error(message), { name, ...(sqlstate === undefined ? {} : { sqlstate, transient }) });
}

/** @param {Session} session */
const coreFetch = (session) => async (input, init) => {
  const request = new Request(typeof input === 'string' ? new URL(input, 'http://core') : input, init);
  request.signal.throwIfAborted();
  const { pathname, search } = new URL(request.url);
  const outgoing = session.request(
    { ...headersOf(request.headers), ':method': request.method, ':path': `/core${pathname}${search}` },
    { endStream: request.body === null, waitForTrailers: request.body !== null },
  );
  const whole = wholeness(outgoing);
  outgoing.on('error', () => {});
  const giveUp = () => cancelExchange(session, outgoing, CANCEL);
  request.signal.addEventListener('abort', giveUp, { once: true });
  outgoing.once('close', () => request.signal.removeEventListener('abort', giveUp));
  if (request.body !== null) sendBody(request.body, outgoing).catch(giveUp);
  try {
    const headers = await responseHead(outgoing);
    const status = Number(headers[':status']);
    if (headers['svc-broken'] !== undefined) throw new TypeError('Cannot ask the read API: it broke over this request');
    const broken = () =>
      request.signal.aborted ? request.signal.reason : new TypeError('The read API broke off its answer');
    const empty = request.method === 'HEAD' || [204, 205, 304].includes(status);
    if (empty) outgoing.resume();
    return new Response(empty ? null : bodyOf(outgoing, { whole, broken, unwanted: giveUp }), {
      status,
      headers: headersFrom(headers),
    });
  } catch (error) {
    throw request.signal.aborted ? request.signal.reason : error;
  }
};

/**
 * @param {import('node:http2').ClientHttp2Stream} request
 * @returns {Promise<Record<string, any>>}
 */
const responseHead = (request) =>
  new Promise((resolve, reject) => {
    const broken = () => reject(new TypeError('Cannot ask the service: it broke off'));
    request.once('response', resolve);
    request.once('error', broken);
    request.once('close', broken);
  });
