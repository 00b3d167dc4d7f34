/** Sends a request unchanged, and checks the response against the contract of its operation. */
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type Answer, bareType, type Check, isJson, type Operation, type Schema } from './document.ts';
import type { Sent } from './requests.ts';

export type Got = { status: number; headers: IncomingHttpHeaders; body: Buffer };

const STREAM = 'text/event-stream';
const TIMEOUT_MS = 60_000; // for the head of an answer, and for its body: some look through all that is stored
const FIRST_BYTES_MS = 100; // of a stream that has no end, and perhaps sends nothing

/**
 * Retries on a new connection, when that of the agent was closed after an earlier response, such as a 413.
 * @throws when the connection fails
 */
export const send = (base: string, agent: Agent | false, { method, path, headers, body }: Sent): Promise<Got> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const bytes = body === null ? null : Buffer.from(body);
    const length: Record<string, string> = bytes ? { 'content-length': String(bytes.byteLength) } : {};
    const outgoing = request(
      { hostname, port, agent, method, path, headers: { ...headers, ...length } },
      (response) => {
        const chunks: Buffer[] = [];
        const done = () => {
          clearTimeout(timeout);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
        };
        const leave = () => {
          done();
          outgoing.destroy();
        };
        const endless = bareType(response.headers['content-type'] ?? '') === STREAM;
        clearTimeout(timeout);
        timeout = setTimeout(
          endless ? leave : () => outgoing.destroy(new Error('no end')),
          endless ? FIRST_BYTES_MS : TIMEOUT_MS,
        );
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (endless) leave();
        });
        response.on('end', done);
        response.on('error', reject);
      },
    );
    let timeout = setTimeout(() => outgoing.destroy(new Error('no answer')), TIMEOUT_MS);
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timeout);
      if (agent && error.code === 'ECONNRESET') resolve(send(base, false, { method, path, headers, body }));
      else reject(error);
    });
    outgoing.end(bytes ?? undefined);
  });

/** Everything in a response that differs from its contract; empty: it is as described. */
export function complaints(operation: Operation, { method }: Sent, got: Got, check: Check): string[] {
  const { status, headers, body } = got;
  if (status >= 500 && status !== 503 && status !== 504) return [`${status}: ${body.toString('utf8').slice(0, 300)}`];
  const answer = operation.responses[status];
  if (!answer) return [`${status} is not described: ${body.toString('utf8').slice(0, 300)}`];
  const found = [...wrongHeaders(answer, got, check), ...(method === 'HEAD' ? [] : wrongBody(answer, got, check))];
  if (method === 'HEAD' && body.byteLength > 0) found.push('HEAD has a body');
  return found.map((what) => `${status} ${headers['content-type'] ?? 'without content type'}: ${what}`);
}

/** Headers of HTTP itself, about the connection and the coding of a body; a contract does not repeat them. */
const OF_HTTP = new Set([
  ...['connection', 'date', 'keep-alive', 'transfer-encoding'],
  ...['content-encoding', 'content-length', 'content-type', 'vary'],
]);

function* wrongHeaders({ headers: described = {} }: Answer, { headers }: Got, check: Check): Generator<string> {
  for (const name of Object.keys(headers))
    if (!OF_HTTP.has(name) && !(name in described)) yield `the header ${name} is not described`;
  for (const [name, { required, schema }] of Object.entries(described)) {
    const value = headers[name];
    const wrong = value === undefined ? required && 'is missing' : check(schema, typed(String(value), schema));
    if (wrong) yield `the header ${name} ${wrong}`;
  }
}

const typed = (value: string, { type }: Schema): unknown =>
  type === 'integer' && /^\d+$/.test(value) ? Number(value) : value;

function* wrongBody({ content }: Answer, { status, headers, body }: Got, check: Check): Generator<string> {
  const type = bareType(headers['content-type'] ?? '');
  if (!content || Object.keys(content).length === 0) {
    if (body.byteLength > 0) yield 'a body that is not described';
    return;
  }
  const described = content[type];
  if (!described) return yield `described is ${Object.keys(content).join(', ')}`;
  if (status >= 400 && !isJson(type)) yield 'a failure that is not JSON';
  if (!isJson(type)) return;
  const value = parsed(decoded(body, headers['content-encoding']));
  if (value === undefined) return yield `the body is not JSON: ${body.toString('utf8').slice(0, 100)}`;
  const wrong = check(described.schema ?? {}, value);
  if (wrong) yield wrong.slice(0, 600);
  if (status < 400) return;
  const failure = value as Record<string, unknown>;
  const { error } = failure; // a sentence, or what JSON-RPC makes of one
  const sentence = typeof error === 'object' && error !== null ? (error as { message?: unknown }).message : error;
  if (typeof sentence !== 'string' || !/^[^\n]{5,400}$/.test(sentence)) yield `error is ${JSON.stringify(error)}`;
  if (type !== 'application/problem+json') return;
  if (failure.status !== status) yield `its status is ${failure.status}`;
  if (failure.request_id !== headers['x-request-id']) yield `its request_id is ${failure.request_id}`;
}

const decoded = (body: Buffer, coding = 'identity'): Buffer => {
  if (coding === 'gzip') return gunzipSync(body);
  return coding === 'br' ? brotliDecompressSync(body) : body;
};

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
};

const CURL_BYTES = 4_000;

/** The request as a command that can be pasted into a shell. */
export const curlOf = (base: string, { method, path, headers, body }: Sent): string => {
  const named = Object.entries(headers).map(([name, value]) =>
    value === '' ? `-H ${quoted(`${name};`)}` : `-H ${quoted(`${name}: ${value}`)}`,
  );
  const how = method === 'HEAD' ? '-I' : `-i -X ${method}`;
  const sent =
    body === null
      ? []
      : [`--data-binary ${quoted(body.slice(0, CURL_BYTES))}${body.length > CURL_BYTES ? ' # cut' : ''}`];
  return ['curl', how, '--path-as-is -g', quoted(`${base}${path}`), ...named, ...sent].join(' ');
};

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
