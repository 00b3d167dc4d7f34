/**
 * The addresses of a service, bound once by the parent and held for as long as it lives. The process behind a listener gets the bound
 * socket and accepts from it itself. When that process ends, the socket stays: new connections wait in the system's queue for the next
 * process, and none is refused.
 *
 * `node:cluster` does the same but closes the socket with its last worker; a `net.Server` in the parent would accept from it as well,
 * and handing accepted sockets over costs each connection a message. So the sockets are made by the function that `node:cluster` itself
 * uses, which Node exports without documenting it. Where it is absent, and on Windows, where sockets cannot be inherited, each process
 * binds its address by itself.
 */
import { lookup } from 'node:dns/promises';
import net from 'node:net';
import { getSystemErrorName } from 'node:util';
import { parseListen } from '../../config/listen.ts';
import { OperatorError } from '../../errors.ts';
import { cannotListen, isAbsentLoopback, isIpv6Only, urlOf } from '../../http/bind.ts';

/** A bound TCP socket that nobody accepts from here. */
type Socket = { fd: number; getsockname(name: object): number; close(): void };
type Bind = (address: string, port: number, family: 4 | 6, fd: undefined, flags: number) => Socket | number;

const IPV6_ONLY = 1; // UV_TCP_IPV6ONLY
const ATTEMPTS = 20;

export type HeldAddress = {
  /** Descriptors of the bound sockets; empty: they cannot be passed on here. */
  fds: number[];
  /** As `http://127.0.0.1:8080`, one for each socket. */
  urls: string[];
  /** Afterwards connections are refused as soon as no process listens any more. */
  release(): void;
};

const bindSocket: Bind | undefined =
  process.platform === 'win32' ? undefined : (net as unknown as { _createServerHandle?: Bind })._createServerHandle;

/** Whether sockets can be bound here for another process. */
export const canHoldAddresses = bindSocket !== undefined;

/**
 * Binds each host to one port; 0 is any free one. A loopback family that this machine lacks is left out.
 * @param listen as in the configuration, `:8080`
 * @param what the listener's name in errors
 * @param flag the option that sets the address, for the remedy where the port is taken
 * @throws {OperatorError} the port is taken, or the host is not this machine's
 */
export async function holdAddress(listen: string, what: string, flag?: string): Promise<HeldAddress> {
  const { hosts, port } = parseListen(listen);
  if (!bindSocket) return { fds: [], urls: [], release: () => {} };
  for (let attempt = 1; ; attempt++) {
    const bound: { socket: Socket; address: string; port: number }[] = [];
    try {
      for (const host of hosts) {
        try {
          bound.push(await boundSocket(bindSocket, host, bound[0]?.port ?? port));
        } catch (error) {
          if (hosts.length === 1 || !isAbsentLoopback(host, (error as NodeJS.ErrnoException).code)) throw error;
        }
      }
      return {
        fds: bound.map(({ socket }) => socket.fd),
        urls: bound.map(urlOf),
        release: () => {
          for (const { socket } of bound.splice(0)) socket.close();
        },
      };
    } catch (error) {
      for (const { socket } of bound) socket.close();
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && port === 0 && attempt < ATTEMPTS) continue;
      const refusal = cannotListen(what, port, error);
      if (code !== 'EADDRINUSE' || flag === undefined) throw refusal;
      throw new OperatorError(`${refusal.message}; ${remedy(flag, listen, port)}`, 1, { cause: error });
    }
  }
}

async function boundSocket(bind: Bind, host: string, port: number) {
  const { address, family } = await lookup(host);
  const socket = bind(address, port, family === 6 ? 6 : 4, undefined, isIpv6Only(address) ? IPV6_ONLY : 0);
  if (typeof socket === 'number') throw systemError(socket);
  const name = {} as { address: string; port: number };
  const status = socket.getsockname(name); // reports what a bind has found out late, as that the port is taken
  if (status === 0) return { socket, ...name };
  socket.close();
  throw systemError(status);
}

const systemError = (status: number): NodeJS.ErrnoException =>
  Object.assign(new Error('Cannot bind a socket'), { code: getSystemErrorName(status) });

/** The remedy for a taken port: another one a thousand above, or for high ports below. */
function remedy(flag: string, listen: string, port: number): string {
  const other = `${listen.slice(0, listen.lastIndexOf(':') + 1)}${port > 64_000 ? port - 1_000 : port + 1_000}`;
  return `stop that one ('svc status' tells whether it is svc), or say ${flag} ${other}`;
}
