/** Calls of a provider's client that was pointed at this listener: they get the address of the capture proxy, in an error of the provider's form. */
import type { Context, MiddlewareHandler } from 'hono';
import type { ProviderId } from '../provider/provider-ids.ts';
import { providerById } from '../provider/providers.ts';
import { baseAt, prefixIn, providerOfHeaders, providerOfPath } from './whose-call.ts';

type Deps = {
  /** The name of this listener: 'read API'. */
  what: string;
  /** The capture proxy's port; null: none runs in this process. */
  proxyPort: () => number | null;
  /** Default: the provider's form of 404. */
  answer?: (c: Context, message: string) => Response;
};

/** Comes before the routes, none of which has such a path, and before the token, which a provider's client does not know. */
export const strayCalls =
  ({ what, proxyPort, answer }: Deps): MiddlewareHandler =>
  async (c, next) => {
    const provider = providerOf(c);
    const port = provider && proxyPort();
    if (!provider || !port) return next();
    const { hostname } = new URL(c.req.url);
    const address = baseAt(`http://${hostname}:${port}`, provider);
    const message = `Cannot answer: this is the ${what} of svc; calls to ${provider} go to ${address}`;
    if (answer) return answer(c, message);
    return c.body(providerById(provider).errorBody(404, message), 404, { 'content-type': 'application/json' });
  };

function providerOf({ req }: Context): ProviderId | null {
  const prefixed = prefixIn(req.path);
  if (prefixed) return prefixed.provider;
  const provider = providerOfPath(req.path);
  return provider && (providerOfHeaders((name) => req.header(name) !== undefined) ?? provider); // several list their models alike
}
