/** The binding of servers to addresses: one server a host on one port, or on sockets that the parent process has bound and passed on. */
import type { AddressInfo, Server } from 'node:net';
import { OperatorError } from '../errors.ts';

/** `port` 0: a free one, the same for every host. `fds`: file descriptors of bound TCP sockets. */
export type ListenAt = { hosts: readonly string[]; port: number } | { fds: readonly number[] };

export type BoundServer<S extends Server> = { server: S; port: number; url: string };

const ATTEMPTS = 20;

/**
 * Opens a server for each address and has it listen. A loopback family that this machine lacks is left out. A port that is free on the
 * first host may be in use on the second: where any port will do, another is tried.
 * @param what the listener's name in errors, as 'read API'
 * @throws {OperatorError} an address is in use or is not this machine's; then none of them listens
 */
export async function bindServers<S extends Server>(
  open: () => S,
  at: ListenAt,
  what: string,
): Promise<BoundServer<S>[]> {
  if ('fds' in at) return Promise.all(at.fds.map((fd) => listening(open(), { fd })));
  const { hosts, port } = at;
  for (let attempt = 1; ; attempt++) {
    const bound: BoundServer<S>[] = [];
    try {
      for (const host of hosts) {
        const options = { host, port: bound[0]?.port ?? port, ipv6Only: isIpv6Only(host), exclusive: true };
        const server = await listening(open(), options).catch((error: NodeJS.ErrnoException) => {
          if (hosts.length > 1 && isAbsentLoopback(host, error.code)) return null;
          throw error;
        });
        if (server) bound.push(server);
      }
      if (bound.length > 0) return bound;
      throw new OperatorError(`Cannot listen for the ${what}: none of its hosts is an address of this machine`);
    } catch (thrown) {
      for (const { server } of bound) server.close();
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && port === 0 && attempt < ATTEMPTS) continue;
      throw thrown instanceof OperatorError ? thrown : cannotListen(what, port, thrown);
    }
  }
}

/** `[::]` alone is every address of both families; any other IPv6 address leaves the port free for IPv4. */
export const isIpv6Only = (host: string): boolean => host.includes(':') && host !== '::';

/** Whether a host is missing only because the machine lacks its address family, as containers without IPv6 do. */
export const isAbsentLoopback = (host: string, code: string | undefined): boolean =>
  host === '::1' && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT');

/** @param cause an error of the system, with its `code` */
export function cannotListen(what: string, port: number, cause: unknown): OperatorError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  return new OperatorError(`Cannot listen for the ${what} on port ${port}: ${REASONS[code] ?? code}`, 1, { cause });
}

const REASONS: Record<string, string> = {
  EADDRINUSE: 'it is taken by another process',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'the host is no address of this machine',
  ENOTFOUND: 'the host is unknown',
};

/** As `http://127.0.0.1:8081` or `http://[::1]:8081`. */
export const urlOf = ({ address, port }: Pick<AddressInfo, 'address' | 'port'>): string =>
  `http://${address.includes(':') ? `[${address}]` : address}:${port}`;

const listening = <S extends Server>(server: S, options: Parameters<Server['listen']>[0]): Promise<BoundServer<S>> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    (server as Server).listen(options, () => {
      const address = server.address() as AddressInfo;
      resolve({ server, port: address.port, url: urlOf(address) });
    });
  });
