/**
 * What is answered to bytes that are no request, or never become a whole one? The connection ends with that. One that is closed over
 * bytes nobody has read is reset, and the reset may overtake the answer (RFC 9112, 9.6): so what still comes is dropped for a while.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LINGER_BYTES, LINGER_MS } from './linger.ts';

const STATUS_OF: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * For `clientError` of Node's server, which tells each further piece of such bytes as one more error.
 * @param isDue whether an answer on that connection has begun or is waited for: ours would be taken for it, so there is none
 */
export const answerUnread = (
  answerOf: (status: number) => { headers: Record<string, string>; body: string },
  isDue: (socket: Socket) => boolean,
) => {
  const answeredAt = new WeakMap<Socket, number>(); // in bytes read by then
  return (error: NodeJS.ErrnoException, duplex: Duplex) => {
    const socket = duplex as Socket;
    const answered = answeredAt.get(socket);
    if (answered !== undefined && socket.bytesRead - answered < LINGER_BYTES) return;
    if (!socket.writable || isDue(socket)) {
      socket.destroy();
      return;
    }
    answeredAt.set(socket, socket.bytesRead);
    const late = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(late));
    const status = STATUS_OF[error.code ?? ''] ?? 400;
    const { headers, body } = answerOf(status);
    const head = { ...headers, connection: 'close', 'content-length': Buffer.byteLength(body) };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  };
};
