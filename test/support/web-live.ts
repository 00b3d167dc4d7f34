/** What a test of live pages needs: a page that believes that it is hidden, and the requests that a page has under way. */
import type { Page } from 'playwright-core';

/** A driven browser keeps every page visible, so the page is made to believe otherwise. */
export const setVisibility = (page: Page, state: 'hidden' | 'visible'): Promise<unknown> =>
  page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
    document.dispatchEvent(new Event('visibilitychange'))`);

export type OpenConnections = {
  /** The addresses of requests that have not ended, the stream of events among them. */
  open(): string[];
  /** The addresses of the requests that were begun since the watch began. */
  begun(): readonly string[];
  /** For how many milliseconds there has been none under way: what the answer to one asks for begins only a moment after it. */
  quietMs(): number;
};

/** Of the API, as the network of the browser has them. Streams that are open already are not known, so the page is loaded again. */
export async function openConnections(page: Page): Promise<OpenConnections> {
  const cdp = await page.context().newCDPSession(page);
  const running = new Map<string, { url: string; loaderId: string }>();
  const begun: string[] = [];
  let document = ''; // the loader of the one on screen
  let quietSince = performance.now();
  const ended = ({ requestId }: { requestId: string }) => {
    running.delete(requestId);
    quietSince = performance.now();
  };
  cdp.on('Network.requestWillBeSent', ({ requestId, loaderId, request, type }) => {
    if (type === 'Document') document = loaderId;
    if (!request.url.includes('/v1/')) return; // the end of a worker's script is reported to the worker alone
    running.set(requestId, { url: request.url, loaderId });
    begun.push(request.url);
  });
  cdp.on('Network.loadingFinished', ended);
  cdp.on('Network.loadingFailed', ended);
  await cdp.send('Network.enable');
  await page.reload();
  await page.waitForSelector('[data-live=live]', { state: 'attached' });
  // a request that was under way as the page was loaded again ended with the document that made it, and nobody may report that
  const open = () => [...running.values()].filter(({ loaderId }) => loaderId === document).map(({ url }) => url);
  if (open().length === 0) throw new Error('A page that is live has a stream: the watch does not see it');
  begun.splice(0);
  return {
    open,
    begun: () => begun,
    quietMs: () => (open().length > 0 ? 0 : performance.now() - quietSince),
  };
}
