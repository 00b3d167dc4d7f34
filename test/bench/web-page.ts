/** A page that is measured: opened in a profile of its own, it notes when it can be read, its long tasks and its layout shifts. */
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';

/** What must hold, once the page has set this mark, for it to be readable. */
export type Readable = { mark: string; what: 'sessions' | 'talk' } | { mark: string; what: 'span'; span: string };

export type PageTimes = {
  /** Since navigation began: the page's own mark, and the end of the first frame that shows what it promises. */
  marked: number;
  shown: number;
  firstPaint: number;
};

type Seen = { long: number[]; shifts: { at: number; value: number }[]; times: PageTimes | null };
declare global {
  var seen: Seen; // in the page
}

export type Measured = { context: BrowserContext; page: Page; cdp: CDPSession };

/** A blank page of a new profile. */
export async function blankPage(browser: Browser, readable?: Readable): Promise<Measured> {
  const context = await browser.newContext();
  await context.addInitScript('globalThis.__name = (named) => named'); // functions that tsx compiled call it
  await context.addInitScript(note, readable ?? null);
  const page = await context.newPage();
  return { context, page, cdp: await context.newCDPSession(page) };
}

/** @throws {Error} when the page cannot be read within half a minute */
export async function pageTimes(page: Page): Promise<PageTimes> {
  const handle = await page.waitForFunction(() => seen.times, undefined, { polling: 50 });
  return (await handle.jsonValue()) as PageTimes;
}

/** Waits until the page has set this mark. */
export const markedOn = (page: Page, mark: string): Promise<unknown> =>
  page.waitForFunction((wanted) => performance.getEntriesByName(wanted).length > 0, mark);

/** Runs in the page, before any script of it. */
function note(readable: Readable | null): void {
  const notes: Seen = { long: [], shifts: [], times: null };
  globalThis.seen = notes;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) notes.long.push(duration);
  }).observe({ type: 'longtask', buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[])
      if (!entry.hadRecentInput) notes.shifts.push({ at: entry.startTime, value: entry.value });
  }).observe({ type: 'layout-shift', buffered: true });
  if (readable === null) return;

  const inView = (element: Element, view: DOMRect) => {
    const { top, bottom, height } = element.getBoundingClientRect();
    return height > 0 && bottom > view.top && top < view.bottom;
  };
  const holds = (): boolean => {
    if (readable.what === 'sessions') return document.querySelector('[data-session]') !== null;
    const list = document.querySelector('.talk-list');
    if (!list) return false;
    const view = list.getBoundingClientRect();
    if (readable.what === 'span') {
      const row = list.querySelector(`[data-span="${readable.span}"]`);
      if (row === null || !row.contains(document.activeElement) || row.querySelector('.waiting-words')) return false;
      const { top, bottom } = row.getBoundingClientRect();
      return top >= view.top - 1 && (bottom <= view.bottom + 1 || top < view.top + view.height / 2);
    }
    const rows = [...list.querySelectorAll('[data-row]')].filter((row) => inView(row, view));
    return rows.length > 0 && rows.every((row) => row.textContent !== '' && !row.querySelector('.waiting-words'));
  };
  const look = () => {
    const [mark] = performance.getEntriesByName(readable.mark);
    if (!mark || !holds()) {
      requestAnimationFrame(look);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      const [paint] = performance.getEntriesByName('first-contentful-paint');
      notes.times = { marked: mark.startTime, shown: performance.now(), firstPaint: paint?.startTime ?? Number.NaN };
    };
    port2.postMessage(null); // comes after the frame is painted
  };
  requestAnimationFrame(look);
}
