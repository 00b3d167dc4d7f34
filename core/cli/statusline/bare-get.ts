/** One GET request of the status line, over a bare socket: to load `node:http` takes longer than the service takes to respond. */
import { connect, isIP } from 'node:net';
import { parseJson } from '../../parse-json.ts';
import { textOf } from './text-of.ts';

type BareRequest = {
  /** As `http://127.0.0.1:8081`. */
  address: string;
  path: string;
  /** '' or absent: none. */
  token?: string;
};

/** What no field of a request may hold (RFC 9110, section 5.5): a token with a line break would add fields of its own. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * The JSON of a 200; undefined: a refusal, or no JSON. In HTTP/1.0, since its responses have one form: they end with their connection
 * (RFC 9112, section 6.3, and section 6.1 on such a request).
 * @throws no connection, one that broke, or a token that cannot be sent
 */
export async function bareGet({ address, path, token = '' }: BareRequest): Promise<unknown> {
  if (UNSENDABLE.test(token)) throw new TypeError('Cannot send the token: it holds characters that no header may');
  const { protocol, hostname, host, port, pathname } = new URL(address);
  const isSecure = protocol === 'https:';
  const to = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (isSecure ? 443 : 80)) };
  const servername = isIP(to.host) ? '' : to.host;
  const socket = isSecure ? (await import('node:tls')).connect({ ...to, servername }) : connect(to);
  socket.unref(); // the process ends when the line is printed
  const authorization = token === '' ? '' : `authorization: Bearer ${token}\r\n`;
  socket.write(
    `GET ${pathname.replace(/\/+$/, '')}${path} HTTP/1.0\r\nhost: ${host}\r\naccept: application/json\r\n${authorization}\r\n`,
    'latin1',
  );
  const response = await textOf(socket);
  const body = response.indexOf('\r\n\r\n');
  return /^HTTP\/1\.[01] 200\b/.test(response) && body > 0 ? parseJson(response.slice(body)) : undefined;
}
