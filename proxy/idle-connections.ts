/**
 * Which idle connection to an upstream does a call get? The one last used, and none that the upstream has ended: Node would offer such a
 * one until its own side has ended as well, and a call that comes in at that moment would be lost on it. One that the upstream ends while
 * a call is already on its way cannot be told from one that died at work; such a call is answered 502 and never sent twice, since a proxy
 * must not repeat what may have been done (RFC 9110 9.2.2), and clients that may try again do so.
 */
import type { Agent, ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** An agent has no other, so neither does it have another list of connections. */
const ONE_UPSTREAM = 'upstream';

/** Makes an agent that has no connection yet one for a single upstream. */
export function forOneUpstream(agent: Agent): void {
  agent.getName = () => ONE_UPSTREAM; // Node would put a name together out of all options, four times in each call
  dropEnded(agent);
  takeIdle(agent);
}

function dropEnded(agent: Agent): void {
  const connect = agent.createConnection.bind(agent);
  const watched = <T extends Duplex | null | undefined>(connection: T): T => {
    connection?.once('end', () => {
      if (isIdle(agent, connection)) connection.destroy(); // on a busy one the call sees the end itself
    });
    return connection;
  };
  agent.createConnection = (options, callback) =>
    watched(connect(options, callback && ((error, connection) => callback(error, watched(connection)))));
}

const isIdle = ({ freeSockets }: Agent, connection: Duplex) =>
  Object.values(freeSockets).some((free) => (free as readonly Duplex[] | undefined)?.includes(connection));

/** What Node's own requests call; agents of others stand in for its own by this method (agent-base, among others). */
type Choosing = {
  addRequest(request: ClientRequest, options: object): void;
  sockets: Record<string, Socket[]>;
  freeSockets: Record<string, Socket[]>;
};

/**
 * Hands an idle connection over as Node does, and leaves to Node what needs a new one. Node merges the options of request and agent before
 * it looks, though an open connection needs none of them: a tenth of all that the proxy does for a small call.
 */
function takeIdle(agent: Agent): void {
  const choosing = agent as unknown as Choosing;
  const { sockets, freeSockets } = choosing;
  const connectFor = choosing.addRequest.bind(agent);
  choosing.addRequest = (request, options) => {
    const idle = freeSockets[ONE_UPSTREAM];
    const socket = idle?.at(-1);
    if (!idle || !socket || socket.destroyed) {
      connectFor(request, options);
      return;
    }
    idle.pop();
    if (idle.length === 0) delete freeSockets[ONE_UPSTREAM];
    agent.reuseSocket(socket, request);
    sockets[ONE_UPSTREAM] ??= [];
    sockets[ONE_UPSTREAM].push(socket);
    request.onSocket(socket);
  };
}
