/** Whether an address that a person has set for a provider may be replaced by the proxy's: only if the proxy forwards to just that address. */
import type { ProviderId } from '../../../provider/provider-ids.ts';
import { providerById } from '../../../provider/providers.ts';
import { clientAddress } from '../../client-address.ts';
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
  const own = clientAddress(set, provider);
  const ours = clientAddress(upstreams[provider], provider);
  if (originOf(own) === originOf(new URL(proxy)) || withoutEnd(own, provider) === withoutEnd(ours, provider))
    return null;
  const [shownOwn, shownOurs] = shownApart(own, ours);
  return (
    `${where} leads to ${plain(shownOwn)}, and svc would forward to ${plain(shownOurs)}; ` +
    `set SVC_PROXY_UPSTREAMS_${provider.toUpperCase()} to the same address, or unset ${where}`
  );
}

/** Names of the loopback interface are one. '': what is set is no address. */
const originOf = (url: URL | null): string =>
  url === null ? '' : `${url.protocol}//${url.host.replace(/^(?:localhost|\[::1\])(?=:|$)/, '127.0.0.1')}`;

/** Hosts alone, unless these are the same: a path may be a secret of its gateway. Never the user or password of an address. */
function shownApart(one: URL | null, other: URL | null): [string, string] {
  const pairs = [hostOf, withPath, withProtocol].map((shown): [string, string] => [shown(one), shown(other)]);
  return pairs.find(([first, second]) => first !== second) ?? [hostOf(one), hostOf(other)];
}

const hostOf = (url: URL | null) => url?.host || 'another address';
const withPath = (url: URL | null) => hostOf(url) + pathOf(url);
const withProtocol = (url: URL | null) => `${url?.protocol ?? ''}//${withPath(url)}`;
const pathOf = (url: URL | null) => (url?.pathname ?? '').replace(/\/+$/, '');

function withoutEnd(url: URL | null, provider: ProviderId): string {
  const { basePath } = providerById(provider);
  const path = pathOf(url);
  return originOf(url) + (basePath !== '' && path.endsWith(basePath) ? path.slice(0, -basePath.length) : path);
}
