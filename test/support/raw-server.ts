/** A server that answers any request with fixed bytes: for response heads that no server of Node's would write. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

export async function withRawServer(bytes: string, use: (port: number) => Promise<void>): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => socket.end(bytes, 'latin1'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  try {
    await use(typeof address === 'object' && address !== null ? address.port : 0);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}
