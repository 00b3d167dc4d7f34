/** Whether an address is one of this machine, as far as its host shows: of a name only `localhost` is known to be. */
import { networkInterfaces } from 'node:os';

/** @param address as `http://127.0.0.1:8081` */
export function isOwnHost(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const host = new URL(address).hostname.replace(/^\[|\]$/g, '');
  if (/^(?:localhost|127\.\d+\.\d+\.\d+|::1?|0\.0\.0\.0)$/.test(host)) return true;
  return Object.values(networkInterfaces()).some((several) => several?.some((own) => own.address === host));
}
