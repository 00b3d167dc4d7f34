/** `svc open`: opens the web UI of the running service in a browser, and prints its address. */
import type { LoadedConfig } from '../config/load.ts';
import { OperatorError } from '../errors.ts';
import { openInBrowser } from './browser.ts';
import { tokenFor } from './chosen-by-project.ts';
import { getJson } from './get-json.ts';
import type { Io } from './io.ts';
import { addresses, REPLY_TIMEOUT_MS } from './read-api.ts';
import { tlsReason } from './tls-failure.ts';
import { uiAddress } from './ui-address.ts';

/**
 * @param path of a page, such as `sessions/<id>`
 * @param open shows the address to a person; false: it could not
 * @throws {OperatorError} no service answers, or it serves no UI
 */
export async function openUi(
  loaded: LoadedConfig,
  { print, path = '' }: { print: boolean; path?: string },
  { out, env, isTerminal = false }: Pick<Io, 'out' | 'env' | 'isTerminal'>,
  open: typeof openInBrowser = openInBrowser,
): Promise<void> {
  const address = addresses(loaded).api;
  if (address === null)
    throw new OperatorError(
      'Cannot open the web UI: api.listen leaves the port to the system; say where it is with --client-api-target',
    );
  const [ping, page] = [await get(address, '/ping'), await get(address, '/')];
  const tls = tlsReason(ping);
  if (tls !== null) throw new OperatorError(`Cannot open the web UI: at ${address}, ${tls}`);
  if (typeof ping === 'string' || ping.body !== 'pong')
    // else the token would go to a page of somebody else
    throw new OperatorError(`Cannot open the web UI: no read API answers at ${address}; 'svc serve' starts it`);
  const status = typeof page === 'string' ? null : page.status;
  if (status === 503)
    throw new OperatorError(`Cannot open the web UI: the service was started without one; run 'npm run build' there`);
  if (status !== 200)
    throw new OperatorError(`Cannot open the web UI: the service at ${address} has api.web_ui switched off`);
  const shown =
    uiAddress(address, { ...loaded.config.api, token: tokenFor(loaded, address), web_ui: true }, isTerminal, path) ??
    '';
  const isOpen = isTerminal && !print && (await open(shown, env));
  out(isOpen ? `Opened in your browser: ${shown}\n` : `${shown}\n`);
}

const get = (address: string, path: string) => getJson({ address, path, timeoutMs: REPLY_TIMEOUT_MS });
