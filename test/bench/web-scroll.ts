/** B8 to B10: what does a reader feel who scrolls through a session of ten thousand spans, and does the page forget what it showed? */
import type { CDPSession, Page } from 'playwright-core';
import { type ScrollFigures, watchScroll } from '../support/scroll-figures.ts';
import { LONG_LISTS } from '../support/smooth-scroll.ts';
import { bounded, heading, ms, row } from './figures.ts';
import { blankPage, markedOn } from './web-page.ts';
import type { Ground } from './web-stand.ts';

const SECONDS = 10;
const MOST_TASK_MS = 50;
const count = (value: number) => String(Math.round(value));
const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
const megabytes = (value: number) => `${value.toFixed(1)} MB`;

export async function benchScroll(ground: Ground): Promise<void> {
  const { base, ids } = await ground.longSessions();
  for (const { path, ready, scroller } of LONG_LISTS) {
    const { context, page } = await blankPage(await ground.browser());
    await page.goto(`${base}/sessions/${ids.L10}${path}`);
    await markedOn(page, ready);
    await markedOn(page, 'svc:outline-complete');
    const watched = await watchScroll(page, scroller);
    const ways: ScrollFigures[] = [];
    for (const seconds of [SECONDS, -SECONDS, SECONDS, -SECONDS]) ways.push(await watched.scroll(seconds));
    const worst = (of: (way: ScrollFigures) => number) => Math.max(...ways.map(of));
    heading(`Scrolling 3,000 pixels a second for ${SECONDS} s, four times: L10${path || '/talk'}`);
    row('distance, each', `${Math.round(ways.reduce((sum, { distance }) => sum + distance, 0) / ways.length)} px`);
    bounded(`B8 tasks of more than ${MOST_TASK_MS} ms`, sum(ways.map(({ longTasks }) => longTasks.length)), 0, count);
    row('the longest of them', ms(worst(({ longTasks }) => Math.max(0, ...longTasks))));
    bounded(
      'B8 frames later than 33 ms, the worst way',
      worst(({ lateShare }) => lateShare),
      0.02,
      percent,
    );
    bounded(
      'B8 a row without its text, longest',
      worst(({ blankMs }) => blankMs),
      100,
    );
    bounded(
      'B9 nodes',
      worst(({ nodes }) => nodes),
      2_500,
      count,
    );
    bounded('B9 heap', await watched.heapMb(), 60, megabytes);
    await context.close();
  }
  await benchLeak(ground);
}

/** Ten sessions of the demo, one after the other, from the list and back to it. */
async function benchLeak(ground: Ground): Promise<void> {
  const { base } = await ground.demo();
  const { context, page, cdp } = await blankPage(await ground.browser());
  await page.goto(`${base}/`);
  await markedOn(page, 'svc:rows');
  const ids = await page.locator('[data-session]').evaluateAll((rows) => rows.map((one) => one.dataset.session ?? ''));
  await look(page, ids[10] ?? ''); // the scripts of a session's page stay, and are no leak
  const before = await held(cdp);
  for (const id of ids.slice(0, 10)) await look(page, id);
  const after = await held(cdp);
  heading('Ten sessions opened and left');
  row('heap before, after', megabytes(before.heap), megabytes(after.heap));
  bounded('B10 heap grows by', after.heap - before.heap, 10, megabytes);
  bounded('B10 listeners grow by', after.listeners - before.listeners, 0, count);
  await context.close();
}

async function look(page: Page, id: string): Promise<void> {
  await page.locator(`[data-session="${id}"] a`).first().click();
  await page.locator('.talk-list [data-row]').first().waitFor(); // a handle of an element would keep its page
  await page.goBack();
  await page.locator('[data-session]').first().waitFor();
}

/** A page that was left is held by its timers for a while: a session that grows is read again after 3 s or more. */
const LET_GO_MS = 5_000;

async function held(cdp: CDPSession) {
  await new Promise((resolve) => setTimeout(resolve, LET_GO_MS));
  await cdp.send('Performance.enable');
  await cdp.send('HeapProfiler.collectGarbage');
  const { metrics } = await cdp.send('Performance.getMetrics');
  const value = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { heap: value('JSHeapUsedSize') / 2 ** 20, listeners: value('JSEventListeners') };
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
