/** The address of the browser UI, to open or to show. */
import type { Config } from '../config/schema.ts';

/**
 * Null: the service has no UI. With the token only for a terminal, since other output is often stored; in the fragment, which no browser
 * sends to a server.
 * @param path of one of its pages, such as `sessions/<id>`
 * @param api the read API's address, such as `http://localhost:8081`
 */
export function uiAddress(
  api: string,
  { web_ui, base_path, token }: Pick<Config['api'], 'web_ui' | 'base_path' | 'token'>,
  isTerminal: boolean,
  path = '',
): string | null {
  if (!web_ui) return null;
  const address = api.replace(/\/+$/, '');
  const prefix = address.endsWith(base_path) ? '' : base_path;
  return `${address}${prefix}/${path}${isTerminal && token !== '' ? `#token=${encodeURIComponent(token)}` : ''}`;
}
