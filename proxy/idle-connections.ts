/**
 * When is an idle connection to an upstream no longer offered to calls? When the upstream has ended it, at once: Node would offer it until
 * its own side has ended as well, and a call that comes in at that moment would be lost on it. One that the upstream ends while a call is
 * already on its way cannot be told from one that died at work; such a call is answered 502 and never sent twice, since a proxy must not
 * repeat what may have been done (RFC 9110 9.2.2), and clients that may try again do so.
 */
import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

/** To be called before the agent's first connection. */
export function dropEnded(agent: Agent): void {
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
