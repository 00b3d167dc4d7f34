/** What a test of live pages needs: a page that believes that it is hidden, and the requests that a page has under way. */
import type { Page } from 'playwright-core';

/** A driven browser keeps every page visible, so the page is made to believe otherwise. */
export const setVisibility = (page: Page, state: 'hidden' | 'visible'): Promise<unknown> =>
  page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
    document.dispatchEvent(new Event('visibilitychange'))`);

export type OpenConnections = {
  /** The addresses of requests that have not ended, the stream of events among them. */
  open(): string[];
  /** How many requests were begun since the watch began. */
  begun(): number;
};

/** Of the API, as the network of the browser has them. Streams that are open already are not known, so the page is loaded again. */
export async function openConnections(page: Page): Promise<OpenConnections> {
  const cdp = await page.context().newCDPSession(page);
  const running = new Map<string, string>();
  let begun = 0;
  cdp.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (!request.url.includes('/v1/')) return; // the end of a worker's script is reported to the worker alone
    running.set(requestId, request.url);
    begun += 1;
  });
  cdp.on('Network.loadingFinished', ({ requestId }) => running.delete(requestId));
  cdp.on('Network.loadingFailed', ({ requestId }) => running.delete(requestId));
  await cdp.send('Network.enable');
  await page.reload();
  await page.waitForSelector('[data-live=live]', { state: 'attached' });
  if (running.size === 0) throw new Error('A page that is live has a stream: the watch does not see it');
  begun = 0;
  return { open: () => [...running.values()], begun: () => begun };
}
