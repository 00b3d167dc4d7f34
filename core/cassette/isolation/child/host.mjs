/** Serves a module in a process apart from the service: requests come over one channel, its bindings are used over another. */
import { createServer } from 'node:http2';
import { Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import { describe, serve } from './answer.mjs';
import { openBindings } from './bindings.mjs';
import { CHANNEL_BROKE, LIMITS, UNCAUGHT, UNHANDLED } from './limits.mjs';

const { exit } = process; // a cassette may replace it

process.on('uncaughtException', (error, origin) => {
  console.error(error);
  exit(origin === 'unhandledRejection' ? UNHANDLED : UNCAUGHT);
});

const channel = (/** @type {number} */ fd) => {
  const socket = new Socket({ fd, readable: true, writable: true });
  socket.once('close', () => exit(CHANNEL_BROKE));
  socket.on('error', () => exit(CHANNEL_BROKE));
  return socket;
};

/**
 * Loads a module, and serves its requests. This process ends with the channel.
 * @param {string} entry the module's file
 * @param {number} fd of the channel for requests to it; the next one is that of its bindings
 * @param {() => void} opened is called when the channels are open and nothing of the module has run
 */
export function host(entry, fd, opened = () => {}) {
  const requestSocket = channel(fd);
  const bindings = openBindings(channel(fd + 1));
  opened();
  const loaded = import(pathToFileURL(entry).href).then(describe, (error) => ({
    failure: `it throws when it is loaded: ${reason(error)}`,
  }));
  const server = createServer(LIMITS);
  server.on('session', (session) => {
    session.on('error', () => exit(CHANNEL_BROKE));
    session.once('close', () => exit(CHANNEL_BROKE));
  });
  server.on('stream', serve({ loaded, bindings }));
  server.emit('connection', requestSocket);
}

/** @param {unknown} error */
function reason(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
