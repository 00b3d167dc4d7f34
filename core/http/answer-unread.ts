/**
 * The response to bytes that are no request, or never become a whole one; the connection ends with it. A connection that is closed with
 * unread bytes is reset, and the reset may overtake the response (RFC 9112, 9.6): so what still comes is read and dropped for a while.
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
 * For `clientError` of Node's server, which emits one more error for each further chunk of such bytes.
 * @param isResponseDue whether a response on that connection has begun or is awaited: this one would be taken for it, so none is sent
 */
export const answerUnread = (
  responseFor: (status: number) => { headers: Record<string, string>; body: string },
  isResponseDue: (socket: Socket) => boolean,
) => {
  const bytesReadAtResponse = new WeakMap<Socket, number>(); // bytes that had been read when the response was sent
  return (error: NodeJS.ErrnoException, duplex: Duplex) => {
    const socket = duplex as Socket;
    const bytesBefore = bytesReadAtResponse.get(socket);
    if (bytesBefore !== undefined && socket.bytesRead - bytesBefore < LINGER_BYTES) return;
    if (!socket.writable || isResponseDue(socket)) {
      socket.destroy();
      return;
    }
    bytesReadAtResponse.set(socket, socket.bytesRead);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    const status = STATUS_OF[error.code ?? ''] ?? 400;
    const { headers, body } = responseFor(status);
    const head = { ...headers, connection: 'close', 'content-length': Buffer.byteLength(body) };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  };
};
