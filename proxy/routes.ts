/** Provider, upstream and kind of a call, read from method and target alone, on the text as it came: nothing is normalised. */
import type { Config } from '../core/config/schema.ts';
import { isNoTurnPath } from '../core/harness/harnesses.ts';
import { ProviderId } from '../core/provider/provider-ids.ts';
import { providers } from '../core/provider/providers.ts';

/** `target` is path and query for the upstream, `path` the same without query; neither has the provider's prefix. `bare`: the url had no prefix. */
export type Route = { provider: ProviderId; bare: boolean; upstream: string; target: string; path: string };

type Proxy = Pick<Config['proxy'], 'provider' | 'upstream' | 'upstreams'>;

const PREFIX = new RegExp(`^/(${ProviderId.options.join('|')})(?=[/?]|$)`);
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i;

/**
 * Where a request goes: `/anthropic/…` and the like to that provider, everything else to the configured one.
 * @param url the request's target as it came; of an absolute one the host does not count
 */
export function routeOf(url: string, proxy: Proxy): Route {
  const whole = originForm(url);
  const named = PREFIX.exec(whole)?.[1] as ProviderId | undefined;
  const provider = named ?? proxy.provider;
  const upstream = named || proxy.upstream === '' ? proxy.upstreams[provider] : proxy.upstream;
  const rest = named ? whole.slice(named.length + 1) : whole;
  const target = rest === '*' || rest.startsWith('/') ? rest : `/${rest}`;
  return { provider, bare: !named, upstream, target, path: target.split('?', 1)[0] as string };
}

/** The target without scheme and host, which clients send that take this for a forward proxy. */
export const originForm = (url: string): string => (url.startsWith('/') ? url : url.replace(ABSOLUTE_FORM, ''));

/** Paths of POST requests that request no turn of a model; harnesses have more. */
const NO_TURN = new RegExp(
  [...providers.flatMap(({ noTurn }) => noTurn), '/(oauth|telemetry|v1/traces|v1/metrics|v1/logs)(/.*)?']
    .map((path) => `${path}/?$`)
    .join('|'),
);

/** Whether a request that is in none of our formats requests a turn of a model, in one that cannot be read. */
export const requestsTurn = (method: string, path: string): boolean =>
  method === 'POST' && !NO_TURN.test(path) && !isNoTurnPath(path);
