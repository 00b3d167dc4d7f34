/**
 * How does a cassette run in a process of its own? This file is that process: it loads the module, and answers what the service
 * asks over one channel (file descriptor 3) out of what the service hands it over another (4). Both speak HTTP/2, carry all
 * exchanges side by side, and close when either end goes, which ends this process. Plain JavaScript, since nothing here
 * compiles, and alone with this folder and the cassette's, since it may read nothing else.
 */
import { createServer } from 'node:http2';
import { Socket } from 'node:net';
import { setPriority } from 'node:os';
import { pathToFileURL } from 'node:url';
import { describe, serve } from './answer.mjs';
import { openBindings } from './bindings.mjs';
import { CHANNEL_BROKE, LIMITS, NICE, UNCAUGHT, UNHANDLED } from './limits.mjs';

setPriority(NICE); // before the cassette is loaded: when processors are short, whoever is recorded comes first

const { exit } = process; // a cassette may put its own in place
const [entry] = process.argv.slice(2);

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

const asking = channel(3);
const bindings = openBindings(channel(4));
const loaded = import(pathToFileURL(entry).href).then(describe, (error) => ({
  failure: `it throws when it is loaded: ${reason(error)}`,
}));

/** @param {unknown} error */
function reason(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

const server = createServer(LIMITS);
server.on('session', (session) => {
  session.on('error', () => exit(CHANNEL_BROKE));
  session.once('close', () => exit(CHANNEL_BROKE));
});
server.on('stream', serve({ loaded, bindings }));
server.emit('connection', asking);
