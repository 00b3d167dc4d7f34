/** Provider, upstream and kind of a call, read from method and target alone, on the text as it came: nothing is normalised. */
import type { Config } from '../core/config/schema.ts';
import type { ProviderId } from '../core/model/provider.ts';

/** `target` is path and query for the upstream, `path` the same without query; neither has the provider's prefix. `bare`: the url had no prefix. */
export type Route = { provider: ProviderId; bare: boolean; upstream: string; target: string; path: string };

type Proxy = Pick<Config['proxy'], 'provider' | 'upstream' | 'upstreams'>;

const PREFIX = /^\/(anthropic|openai|ollama)(?=[/?]|$)/;
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i;

/**
 * Where a request goes: `/anthropic/…`, `/openai/…` and `/ollama/…` to that provider, everything else to the configured one.
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

/** Paths of POST requests that request no turn of a model. */
const NO_TURN = new RegExp(
  [
    '/(count_tokens|input_tokens|tokenize|detokenize|moderations|rerank|score)',
    '/(embed|embedd?ings)',
    '/(batches|files|uploads|vector_stores|containers|fine_tuning|evals|assistants|threads|conversations|skills)(/.*)?',
    '/responses/.+', // cancel, compact, input_tokens …
    '/(images|audio|videos|realtime)(/.*)?',
    '/models(/[^:]*)?',
    '/api/(show|pull|push|create|copy|delete|tags|ps|version|blobs)(/.*)?',
    '/api/(event_logging|claude_cli|oauth|auth)(/.*)?',
    '/(oauth|telemetry|v1/traces|v1/metrics|v1/logs)(/.*)?',
    ':(countTokens|embedContent|batchEmbedContents)',
  ]
    .map((path) => `${path}/?$`)
    .join('|'),
);

/** Whether a request that is in none of our formats requests a turn of a model, in one that cannot be read. */
export const requestsTurn = (method: string, path: string): boolean => method === 'POST' && !NO_TURN.test(path);
