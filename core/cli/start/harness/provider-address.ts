/** Whether an address that a person has set for a provider may be replaced by the proxy's: only if the proxy forwards to just that address. */
import type { ProviderId } from '../../../provider/provider-ids.ts';
import { providerById } from '../../../provider/providers.ts';
import { plain } from '../../units.ts';
import type { StartContext } from './harness.ts';

/**
 * Null: it may be replaced.
 * @param value '' or undefined: none is set
 * @param where the name of the variable, or the entry of a file
 * @returns why not, as the end of 'Not recorded: …'
 */
export function otherAddress(
  where: string,
  value: string | undefined,
  provider: ProviderId,
  { proxy, upstreams }: Pick<StartContext, 'proxy' | 'upstreams'>,
): string | null {
  const set = value?.trim() ?? '';
  if (set === '') return null;
  if (originOf(set) === originOf(proxy)) return null;
  const upstream = upstreams[provider];
  if (withoutEnd(set, provider) === withoutEnd(upstream, provider)) return null;
  const [own, ours] = shownApart(set, upstream);
  return (
    `${where} leads to ${plain(own)}, and svc would forward to ${plain(ours)}; ` +
    `set SVC_PROXY_UPSTREAMS_${provider.toUpperCase()} to the same address, or unset ${where}`
  );
}

/** Names of the loopback interface are one. */
function originOf(address: string): string {
  const url = parsed(address);
  if (url === null) return '';
  return `${url.protocol}//${url.host.replace(/^(?:localhost|\[::1\])(?=:|$)/, '127.0.0.1')}`;
}

/** Hosts alone, unless these are the same: a path may be a secret of its gateway. Never the user or password of an address. */
function shownApart(one: string, other: string): [string, string] {
  const pairs = [hostOf, withPath, withProtocol].map((shown): [string, string] => [shown(one), shown(other)]);
  return pairs.find(([first, second]) => first !== second) ?? [hostOf(one), hostOf(other)];
}

const hostOf = (address: string) => parsed(address)?.host || 'another address';
const withPath = (address: string) => hostOf(address) + (parsed(address)?.pathname ?? '').replace(/\/+$/, '');
const withProtocol = (address: string) => `${parsed(address)?.protocol ?? ''}//${withPath(address)}`;

function parsed(address: string): URL | null {
  const whole = /^\w+:\/\//.test(address) ? address : `http://${address}`; // OLLAMA_HOST may be a host and a port
  return URL.canParse(whole) ? new URL(whole) : null;
}

function withoutEnd(address: string, provider: ProviderId): string {
  const { basePath } = providerById(provider);
  const path = (parsed(address)?.pathname ?? '').replace(/\/+$/, '');
  return originOf(address) + (basePath !== '' && path.endsWith(basePath) ? path.slice(0, -basePath.length) : path);
}
