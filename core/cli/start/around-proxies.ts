/** The variables by which a harness behind a proxy of its network reaches the capture proxy directly. */
import type { Environment } from '../../config/environment.ts';

const PROXIES = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy', 'HTTPS_PROXY', 'https_proxy'];

/**
 * svc itself has reached the capture proxy directly; by way of another proxy the calls and their keys would pass that in clear text.
 * Programs read one of both names, so that both get the entries of both.
 * @param proxy the capture proxy, as `http://127.0.0.1:8080`
 * @returns {} where there is no proxy
 */
export function aroundProxies(env: Environment, proxy: string): Environment {
  if (!PROXIES.some((name) => env[name])) return {};
  const own = [env.NO_PROXY, env.no_proxy].flatMap((list) => (list ?? '').split(',').map((host) => host.trim()));
  const hostname = new URL(proxy).hostname.replace(/^\[|\]$/g, '');
  const all = new Set([...own, '127.0.0.1', 'localhost', hostname].filter((host) => host !== ''));
  const value = all.has('*') ? '*' : [...all].join(','); // '*' counts alone only
  return { NO_PROXY: value, no_proxy: value };
}
