/** One GET request of a command to a service that runs, with a deadline; whoever listens at the address need not be ours. */
import { connect } from 'node:net';
import { type TlsFailure, tlsFailure } from './tls-failure.ts';

/**
 * `body` is the parsed JSON; undefined when it is no JSON, or larger than a service of ours would send. `hostname`: what was connected to,
 * which for `localhost` is a number.
 */
export type JsonResponse = { status: number; body: unknown; hostname: string };

/**
 * nobody: no connection; silent: connected, and no response in time; broken: connected, and what came is no HTTP response; of TLS: connected,
 * and its certificate is refused here, or there is no TLS.
 */
export type NoReply = 'nobody' | 'silent' | 'broken' | TlsFailure;

export type GetRequest = { address: string; path: string; timeoutMs: number; token?: string };

const MOST_BYTES = 4_194_304;

/** Node's client for an address with this protocol, loaded when it is needed: most addresses are without TLS. @param protocol 'http:' or 'https:' */
export const httpOf = (protocol: string) => (protocol === 'https:' ? import('node:https') : import('node:http'));

/**
 * GET, without following redirects: a token goes only where it was meant to go. Not by `fetch`, which takes longer to load than the
 * response takes to come, and refuses some ports.
 * @param token leave it out until the other side has been recognised
 */
export async function getJson({ address, path, ...rest }: GetRequest): Promise<JsonResponse | NoReply> {
  const url = new URL(address.replace(/\/+$/, '') + path);
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol !== 'http:' || hostname !== 'localhost') return get(url, hostname, rest);
  // To look up a name takes longer than most responses.
  const reply = await get(url, '127.0.0.1', rest);
  return reply === 'nobody' ? get(url, hostname, rest) : reply;
}

async function get(
  url: URL,
  hostname: string,
  { timeoutMs, token = '' }: Pick<GetRequest, 'timeoutMs' | 'token'>,
): Promise<JsonResponse | NoReply> {
  const { request } = await httpOf(url.protocol);
  return new Promise((resolve) => {
    let connected = false;
    const headers = { accept: 'application/json', ...(token === '' ? {} : { authorization: `Bearer ${token}` }) };
    const outgoing = request(url, { hostname, agent: false, headers }, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const settle = () => end({ status: answer.statusCode ?? 0, body: parsed(Buffer.concat(chunks)), hostname });
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= MOST_BYTES) chunks.push(chunk);
        else {
          chunks.length = 0;
          settle();
        }
      });
      answer.on('end', settle);
      answer.on('error', () => end('broken'));
      answer.on('aborted', () => end('broken'));
    });
    const deadline = setTimeout(() => end(connected ? 'silent' : 'nobody'), timeoutMs);
    const end = (outcome: JsonResponse | NoReply) => {
      clearTimeout(deadline);
      outgoing.destroy();
      resolve(outcome);
    };
    outgoing.on('socket', (socket) => socket.once('connect', () => (connected = true)));
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      end(connected ? (tlsFailure(url.protocol, error.code) ?? 'broken') : 'nobody'),
    );
    outgoing.end();
  });
}

/** Whether anybody accepts connections there. No request is sent: the proxy would forward it to a provider. */
export const takesConnections = (address: string, timeoutMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const { protocol, hostname, port } = new URL(address);
    const host = hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) });
    const deadline = setTimeout(() => end(false), timeoutMs);
    const end = (taken: boolean) => {
      clearTimeout(deadline);
      socket.destroy();
      resolve(taken);
    };
    socket.once('connect', () => end(true));
    socket.on('error', () => end(false));
  });

const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
};
