/** How does a cassette's process reach what it was handed? The database, the read API and the log, each asked of the service. */
import { connect, constants } from 'node:http2';
import { bodyOf, headersFrom, headersOf, sendBody, textOf, wholeness } from './bodies.mjs';
import { CHANNEL_BROKE, LIMITS } from './limits.mjs';
import { teller } from './progress.mjs';

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
    const asked = session.request({ ':method': 'POST', ':path': path });
    asked.end(JSON.stringify({ sql, parameters: Array.from(parameters, parameter), options }, exact));
    return asked;
  };
  return {
    async query(sql, parameters, options) {
      const asked = ask('/query', sql, parameters, options);
      const [headers, text] = await Promise.all([answered(asked), textOf(asked)]);
      if (headers[':status'] !== 200) throw failure(text);
      return JSON.parse(text);
    },
    async *stream(sql, parameters, options) {
      const asked = ask('/stream', sql, parameters, options);
      await answered(asked);
      asked.setEncoding('utf8');
      let rest = '';
      for await (const text of asked) {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const told of lines) {
          if (told[0] === '.') return;
          if (told[0] === 'e') throw failure(told.slice(1));
          yield JSON.parse(told.slice(1));
        }
      }
      throw failure(JSON.stringify(GONE));
    },
  };
}

const GONE = {
  name: 'DatabaseError',
  message: 'Cannot ask the database: the service has gone',
  sqlstate: '',
  transient: true,
};

/** As text of the type that its place asks for. JSON would have no word for some. */
function parameter(value) {
  if (value === undefined) return null;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  return value;
}

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
  const leave = () => asked.close(constants.NGHTTP2_CANCEL);
  request.signal.addEventListener('abort', leave, { once: true });
  asked.once('close', () => request.signal.removeEventListener('abort', leave));
  if (request.body !== null) sendBody(request.body, asked).catch(leave);
  try {
    const headers = await answered(asked);
    const status = Number(headers[':status']);
    if (headers['svc-broken'] !== undefined) throw new TypeError('Cannot ask the read API: it broke over this request');
    const broken = () =>
      request.signal.aborted ? request.signal.reason : new TypeError('The read API broke off its answer');
    const empty = request.method === 'HEAD' || [204, 205, 304].includes(status);
    if (empty) asked.resume();
    return new Response(empty ? null : bodyOf(asked, { whole, broken, unwanted: leave }), {
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
