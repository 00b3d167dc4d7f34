/** How does a cassette's process reach what it was handed? The database, the read API and the log, each asked of the service. */
import { connect } from 'node:http2';
import { bodyOf, headersFrom, headersOf, sendBody, textOf, wholeness } from './bodies.mjs';
import { leave } from './leave.mjs';
import { CHANNEL_BROKE, LIMITS } from './limits.mjs';
import { parseJson } from './parse-json.mjs';
import { teller } from './progress.mjs';
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
    progress: teller((told) =>
      session.request({ ':method': 'POST', ':path': '/progress', 'svc-progress': told }, { endStream: true }),
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
      dropped += 1; // it writes faster than anyone reads
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
  const ask = (path, sql, parameters = [], options = {}) => {
    const body = statementBody(sql, parameters, options);
    const asked = session.request({ ':method': 'POST', ':path': path });
    asked.end(body);
    return asked;
  };
  return {
    async query(sql, parameters, options) {
      const asked = ask('/query', sql, parameters, options);
      const [headers, text] = await Promise.all([answered(asked), textOf(asked)]);
      if (headers[':status'] !== 200) throw failure(text);
      const { rows, changed } = parseJson(text);
      return { rows, row_count: changed ?? rows.length };
    },
    async *stream(sql, parameters, options) {
      const asked = ask('/stream', sql, parameters, options);
      const headers = await answered(asked);
      if (headers[':status'] !== 200) throw failure(await textOf(asked));
      let whole = false;
      try {
        for await (const { kind, text } of parts(asked)) {
          whole = kind !== 'r';
          if (kind === '.') return;
          if (kind === 'e') throw failure(text);
          yield* parseJson(`[${text}]`);
        }
      } finally {
        if (whole) asked.resume();
        else leave(session, asked, LEAVE);
      }
      throw failure(JSON.stringify(GONE));
    },
  };
}

const LEAVE = { ':path': '/leave' };

/** What row-answers.ts sends of a stream: a kind and a length on a line, then as much text. */
async function* parts(asked) {
  asked.setEncoding('utf8');
  let head = ''; // of a line that is not whole yet
  let part = null;
  for await (const chunk of asked.iterator({ destroyOnReturn: false })) {
    for (let at = 0; at < chunk.length || part?.left === 0; ) {
      if (part === null) {
        const end = chunk.indexOf('\n', at);
        head += chunk.slice(at, end === -1 ? undefined : end);
        at = end === -1 ? chunk.length : end + 1;
        if (end === -1) continue;
        part = { kind: head[0], left: Number(head.slice(1)), text: '' };
        head = '';
      }
      const taken = chunk.slice(at, at + part.left);
      part.text += taken;
      part.left -= taken.length;
      at += taken.length;
      if (part.left > 0) continue;
      yield part;
      part = null;
    }
  }
}

const GONE = {
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
  const asked = session.request(
    { ...headersOf(request.headers), ':method': request.method, ':path': `/core${pathname}${search}` },
    { endStream: request.body === null, waitForTrailers: request.body !== null },
  );
  const whole = wholeness(asked);
  asked.on('error', () => {});
  const giveUp = () => leave(session, asked, LEAVE);
  request.signal.addEventListener('abort', giveUp, { once: true });
  asked.once('close', () => request.signal.removeEventListener('abort', giveUp));
  if (request.body !== null) sendBody(request.body, asked).catch(giveUp);
  try {
    const headers = await answered(asked);
    const status = Number(headers[':status']);
    if (headers['svc-broken'] !== undefined) throw new TypeError('Cannot ask the read API: it broke over this request');
    const broken = () =>
      request.signal.aborted ? request.signal.reason : new TypeError('The read API broke off its answer');
    const empty = request.method === 'HEAD' || [204, 205, 304].includes(status);
    if (empty) asked.resume();
    return new Response(empty ? null : bodyOf(asked, { whole, broken, unwanted: giveUp }), {
      status,
      headers: headersFrom(headers),
    });
  } catch (error) {
    throw request.signal.aborted ? request.signal.reason : error;
  }
};

/**
 * @param {import('node:http2').ClientHttp2Stream} asked
 * @returns {Promise<Record<string, any>>}
 */
const answered = (asked) =>
  new Promise((resolve, reject) => {
    const broken = () => reject(new TypeError('Cannot ask the service: it broke off'));
    asked.once('response', resolve);
    asked.once('error', broken);
    asked.once('close', broken);
  });
