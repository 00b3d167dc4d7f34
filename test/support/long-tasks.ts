/** The long tasks of pages: how long the page did nothing but one thing, and heard nobody. */
import type { BrowserContext, Page } from 'playwright-core';

type Noting = typeof globalThis & { longTasks: number[] };

/** Each page that is opened from now on notes its tasks of more than 50 ms. */
export const noteLongTasks = (browser: BrowserContext): Promise<unknown> =>
  browser.addInitScript(() => {
    const durations: number[] = [];
    Object.assign(globalThis, { longTasks: durations });
    new PerformanceObserver((list) => durations.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: 'longtask',
      buffered: true,
    });
  });

/** Milliseconds; 0 when none was long. */
export const longestTask = (page: Page): Promise<number> =>
  page.evaluate(() => Math.max(0, ...(globalThis as Noting).longTasks));
