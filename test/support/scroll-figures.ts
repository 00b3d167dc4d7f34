/** Scrolls a list in a browser as a hand does, and measures what a reader feels of it: late frames, rows without their text, memory. */
import type { CDPSession, Page } from 'playwright-core';

/** Of a row in view, or of the view's area that no row covers. */
export type ScrollFigures = {
  /** Durations of tasks of more than 50 ms. */
  longTasks: number[];
  frames: number;
  /** Of all frames, those that came more than 33 ms after the one before. */
  lateShare: number;
  /** The longest that a row was in view without its text, or that more than a row's height of the view had no row. */
  blankMs: number;
  /** The most nodes that the document had. */
  nodes: number;
  /** How far it went, in pixels. */
  distance: number;
};

type Watch = {
  /** Names of what is blank in view now. */
  blank(): string[];
  begin(): void;
  end(): Omit<ScrollFigures, 'distance'>;
  /** Milliseconds from that moment until nothing in view is blank. */
  filled(since: number): Promise<number>;
};
type Watching = typeof globalThis & { scrollWatch: Watch };

const SPEED = 3_000; // pixels a second

/** @param scroller selector of the element that scrolls; its rows have `data-row` */
export async function watchScroll(page: Page, scroller: string) {
  await page.evaluate(installWatch, scroller);
  const cdp = await page.context().newCDPSession(page);
  const offset = () => page.locator(scroller).evaluate((list) => list.scrollTop);
  return {
    /** @param seconds negative: upwards */
    scroll: async (seconds: number): Promise<ScrollFigures> => {
      const before = await offset();
      const box = await page.locator(scroller).boundingBox();
      if (!box) throw new Error(`Cannot scroll ${scroller}: it is not on screen`);
      await page.evaluate(() => (globalThis as Watching).scrollWatch.begin());
      await cdp.send('Input.synthesizeScrollGesture', {
        x: Math.round(box.x + box.width / 2),
        y: Math.round(box.y + box.height / 2),
        yDistance: Math.round(-SPEED * seconds),
        speed: SPEED,
        gestureSourceType: 'mouse',
      });
      const figures = await page.evaluate(() => (globalThis as Watching).scrollWatch.end());
      return { ...figures, distance: Math.abs((await offset()) - before) };
    },
    /** Goes there at once, as by the scroll bar. @returns milliseconds until all rows in view have their text */
    jump: (share: number): Promise<number> => page.evaluate(jumpTo, { scroller, share }),
    heapMb: () => heapMb(cdp),
  };
}

/** After garbage collection. */
async function heapMb(cdp: CDPSession): Promise<number> {
  await cdp.send('Performance.enable');
  await cdp.send('HeapProfiler.collectGarbage');
  const { metrics } = await cdp.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN) / 2 ** 20;
}

/**
 * Runs in the page, and so refers to nothing outside of it. Its functions are methods: to any other that has a name, tsx adds a call of
 * its own, which the page does not have.
 */
function installWatch(scroller: string): void {
  const list = document.querySelector<HTMLElement>(scroller);
  if (!list) throw new Error(`There is no ${scroller}`);
  const LEAST_ROW_PX = 24;
  let isOn = false;
  let frames: number[] = []; // milliseconds since the one before
  let since = new Map<string, number>();
  let [blankMs, nodes] = [0, 0];
  const longTasks: number[] = [];
  const observer = new PerformanceObserver((found) => longTasks.push(...found.getEntries().map((one) => one.duration)));
  observer.observe({ type: 'longtask' });
  const watch = {
    blank(): string[] {
      const view = list.getBoundingClientRect();
      let covered = 0;
      const names: string[] = [];
      for (const row of list.querySelectorAll<HTMLElement>('[data-row]')) {
        const { top, bottom } = row.getBoundingClientRect();
        const seen = Math.min(bottom, view.bottom) - Math.max(top, view.top);
        if (seen <= 1) continue;
        covered += seen;
        const isBlank = row.textContent === '' || row.querySelector('.waiting-words') !== null;
        if (isBlank) names.push(`${row.dataset.row} ${row.dataset.trace} ${row.dataset.span ?? ''}`);
      }
      const isAtEnd = list.scrollTop + list.clientHeight > list.scrollHeight - 2 * LEAST_ROW_PX; // a margin is below the rows
      return !isAtEnd && list.clientHeight - covered > LEAST_ROW_PX ? [...names, 'no row'] : names;
    },
    begin(): void {
      isOn = true;
      [frames, since, blankMs, nodes] = [[], new Map(), 0, 0];
      longTasks.length = 0;
      requestAnimationFrame((now) => watch.frame(now, now));
    },
    frame(now: number, last: number): void {
      if (now > last) frames.push(now - last);
      since = new Map(watch.blank().map((name) => [name, since.get(name) ?? now]));
      for (const began of since.values()) blankMs = Math.max(blankMs, now - began);
      if (frames.length % 10 === 0)
        nodes = Math.max(nodes, document.evaluate('count(//node())', document, null, 1).numberValue);
      if (isOn) requestAnimationFrame((next) => watch.frame(next, now));
    },
    filled(began: number): Promise<number> {
      return new Promise((done) => {
        requestAnimationFrame(() => done(watch.blank().length === 0 ? performance.now() - began : watch.filled(began)));
      });
    },
    end() {
      isOn = false;
      longTasks.push(...observer.takeRecords().map((one) => one.duration));
      const late = frames.filter((ms) => ms > 34).length; // more than two frames of 16.7 ms
      return { longTasks: [...longTasks], frames: frames.length, lateShare: late / frames.length, blankMs, nodes };
    },
  };
  Object.assign(globalThis, { scrollWatch: watch });
}

/** Runs in the page. */
function jumpTo({ scroller, share }: { scroller: string; share: number }): Promise<number> {
  const list = document.querySelector(scroller);
  if (!list) throw new Error(`There is no ${scroller}`);
  const began = performance.now();
  list.scrollTop = (list.scrollHeight - list.clientHeight) * share;
  return (globalThis as Watching).scrollWatch.filled(began);
}
