/** What scrolling through a long session may cost a reader: bars for its frames, its blank rows, its nodes and its memory. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { watchScroll } from './scroll-figures.ts';

export const MOST_NODES = 2_500;
const HEAP_MB = 60;
/** Four times the bar, as all bounds that a slow machine may miss. Of frames the share is four times the bar, and not what late means. */
const LONG_TASK_MS = 4 * 50;
const LATE_SHARE = 4 * 0.02;
const BLANK_MS = 4 * 100;

/** The views of a session with a row for each step, and what scrolls in them. */
export const LONG_LISTS = [
  { path: '', ready: 'svc:talk-ready', scroller: '.talk-list' },
  { path: '/time', ready: 'svc:time-ready', scroller: '.fixed-rows' },
] as const;

/** Scrolls down and back up for so many seconds each, goes to places farther off, and holds all of it against the bars. */
export async function assertSmoothScroll(
  page: Page,
  scroller: string,
  seconds: number,
  mostHeapMb = HEAP_MB,
): Promise<void> {
  const watched = await watchScroll(page, scroller);
  let went = 0;
  for (const [way, signed] of [
    ['down', seconds],
    ['up', -seconds],
  ] as const) {
    const { longTasks, frames, lateShare, blankMs, nodes, distance } = await watched.scroll(signed);
    const late = `${(100 * lateShare).toFixed(1)} % of ${frames} frames late`;
    const longest = Math.max(0, ...longTasks);
    console.log(
      `${scroller} ${way} ${distance} px: ${late}, longest task ${longest} ms, blank ${blankMs.toFixed(0)} ms, ${nodes} nodes`,
    );
    went += distance;
    assert.ok(longest <= LONG_TASK_MS, `a task of ${longest} ms`);
    assert.ok(lateShare <= LATE_SHARE, late);
    assert.ok(blankMs <= BLANK_MS, `a row was blank for ${blankMs} ms`);
    assert.ok(nodes <= MOST_NODES, `${nodes} nodes`);
  }
  // both ways together: rows that were formatted behind the reader are of another height on the way back
  assert.ok(went > 0.9 * 2 * seconds * 3_000, `went ${went} px`);
  for (const share of [0.5, 1, 0]) {
    const ms = await watched.jump(share);
    console.log(`${scroller} at ${100 * share} %: readable after ${ms.toFixed(0)} ms`);
    assert.ok(ms <= BLANK_MS, `readable after ${ms} ms`);
    const nodes = await nodesOf(page);
    assert.ok(nodes <= MOST_NODES, `${nodes} nodes`);
  }
  const heap = await watched.heapMb();
  console.log(`${scroller}: ${heap.toFixed(1)} MB`);
  assert.ok(heap <= mostHeapMb, `${heap} MB`);
}

/** Elements, texts and comments. */
export const nodesOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.evaluate('count(//node())', document, null, XPathResult.NUMBER_TYPE).numberValue);
