/**
 * The choice of an idle connection for a call: the one last used, and none that the upstream has ended. Node would offer such a one until
 * its own side has ended as well, and a call that comes in at that moment would be lost on it. When the upstream ends a connection while a
 * call is already on its way, that cannot be told from a failure during the work. Such a call is answered 502 and never sent twice, since
 * a proxy must not repeat what may have been done (RFC 9110 9.2.2); clients that may try again do so.
 */
import type { Agent, ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The name of the only upstream of an agent, and so of its only list of connections. */
const ONE_UPSTREAM = 'upstream';

/** Dedicates an agent that has no connection yet to a single upstream. */
export function forOneUpstream(agent: Agent): void {
  agent.getName = () => ONE_UPSTREAM; // Node would build a name from all options, four times in each call
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

/** The internal interface that Node's requests use; other agents replace the same method (agent-base, among others). */
type AgentInternals = {
  addRequest(request: ClientRequest, options: object): void;
  sockets: Record<string, Socket[]>;
  freeSockets: Record<string, Socket[]>;
};

/**
 * Assigns an idle connection as Node does, and leaves requests that need a new one to Node. Node merges the options of request and agent
 * before it looks for one, though an open connection needs none of them: a tenth of all that the proxy does for a small call.
 */
function takeIdle(agent: Agent): void {
  const internals = agent as unknown as AgentInternals;
  const { sockets, freeSockets } = internals;
  const connectFor = internals.addRequest.bind(agent);
  internals.addRequest = (request, options) => {
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
