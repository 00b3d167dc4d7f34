/** The entry of the process that answers 503 on the sockets of a service that is down for a while. It knows nothing but what to say. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { PROBLEM_TYPE, problemOf } from '../../http/problem.ts';
import type { ServiceOutage } from './stand-in.ts';

/** For requests that are under way when the service is tried again. */
const GRACE_MS = 1_000;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => {}); // the parent's affair
process.title = 'svc: service (down)';
process.once('disconnect', () => process.exit());

let servers: Server[] = [];

process.on('message', (message: ServiceOutage | 'end') => {
  if (message === 'end') return end();
  servers = message.fds.map(({ fd, isIngest }) =>
    createServer((request, response) => answer(request, response, { ...message, isIngest })).listen({ fd }),
  );
  for (const server of servers) server.on('error', () => process.exit(1)); // connections wait in the queue, as without it
});

/** Reads the body first: a connection that is closed with unread bytes takes the response with it. */
function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { why, until, isIngest }: ServiceOutage & { isIngest: boolean },
): void {
  request.resume().once('end', () => {
    const seconds = Math.max(1, Math.ceil((until - Date.now()) / 1_000));
    const problem = problemOf(503, 'service-down', `Cannot answer: ${why}; it is tried again in ${seconds} s`, '');
    const body = Buffer.from(JSON.stringify(isIngest ? { error: problem.error } : problem));
    response.writeHead(503, {
      'content-type': isIngest ? 'application/json' : PROBLEM_TYPE,
      'content-length': body.length,
      'retry-after': String(seconds),
      'cache-control': 'no-store',
      connection: 'close',
    });
    response.end(body);
  });
}

/** Accepts nothing more; what comes from now on waits in the sockets' queues, which the parent holds open. */
function end(): void {
  const exit = () => process.exit();
  setTimeout(exit, GRACE_MS);
  void Promise.all(servers.map((server) => new Promise((closed) => server.close(closed)))).then(exit);
}
