/** Listen addresses: hosts and a port. `:8080` is loopback in both address families; anything wider has to be named. */
import { isIP } from 'node:net';
import { OperatorError } from '../errors.ts';

/** `port` 0 lets the system choose; one port is then shared by all `hosts`. `loopback`: not reachable from other machines. */
export type ListenAddress = { hosts: string[]; port: number; loopback: boolean };

const LOOPBACK = ['127.0.0.1', '::1'];
const EXAMPLES = "such as ':8080', '0.0.0.0:8080', 'localhost:8080' or '[::1]:8080'";
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

/**
 * @throws {OperatorError} when `text` is no address; the configuration has refused such a value before.
 * @example
 * parseListen(':8080'); // => { hosts: ['127.0.0.1', '::1'], port: 8080, loopback: true }
 * parseListen('0.0.0.0:80'); // => { hosts: ['0.0.0.0'], port: 80, loopback: false }
 * parseListen('8080'); // => throws OperatorError
 */
export function parseListen(text: string): ListenAddress {
  const problem = listenProblem(text);
  if (problem) throw new OperatorError(`Cannot listen on '${text}': it ${problem}`, 2);
  const { host, port } = split(text);
  const hosts = host === '' || host.toLowerCase() === 'localhost' ? LOOPBACK : [bare(host)];
  return { hosts: [...hosts], port: Number(port), loopback: hosts.every(isLoopback) };
}

/** Why `text` is no listen address, as the end of a sentence that begins with its name; null when it is one. */
export function listenProblem(text: string): string | null {
  const { host, port } = split(text);
  if (/^[a-z]+:\/\//i.test(text)) return `must be a host and a port without a scheme, ${EXAMPLES}`;
  if (port === null) return `must have a port after a colon, ${EXAMPLES}`;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) return 'must end in a port from 0 to 65535';
  if (host === '*') return "must name its hosts: '0.0.0.0' is every IPv4 address, '[::]' every address";
  if (host === '' || HOST_NAME.test(host) || (host !== bare(host) && isIP(bare(host)) === 6)) return null;
  if (host.includes(':')) return "must have an IPv6 address in brackets, such as '[::1]:8080'";
  return `must be a host and a port, ${EXAMPLES}`;
}

/** True when both cannot be bound at once: the same port on a host that they share. Port 0 never clashes. */
export const listenersClash = (a: ListenAddress, b: ListenAddress): boolean =>
  a.port !== 0 &&
  a.port === b.port &&
  (isWildcard(a) || isWildcard(b) || a.hosts.some((host) => b.hosts.includes(host)));

const isWildcard = ({ hosts }: ListenAddress) => hosts.some((host) => host === '0.0.0.0' || host === '::');

const isLoopback = (host: string) => host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function split(text: string): { host: string; port: string | null } {
  const colon = text.lastIndexOf(':');
  return colon < 0 ? { host: text, port: null } : { host: text.slice(0, colon), port: text.slice(colon + 1) };
}

const bare = (host: string) => (host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host);
