/** The events of the web UI in a real browser: one stream for all tabs, none for those that are hidden, and nothing missed by any. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { inBrowser, type WebStand } from '../support/web.ts';
import { openConnections, setVisibility } from '../support/web-live.ts';

const SOON_MS = 4_000; // a second, and CI's four times

inBrowser('the live web UI', (test) => {
  test('eight tabs share one stream; when its tab goes another reads on', async ({ open, base, browser }) => {
    const streams = new Set<string>();
    let opened = 0;
    browser.on('request', (request) => {
      if (!request.url().endsWith('/v1/events')) return;
      opened += 1;
      streams.add(request.url());
    });
    const pages: Page[] = [];
    for (let i = 0; i < 8; i += 1) {
      const began = performance.now();
      const page = await open('/');
      await page.locator('[data-session]').first().waitFor();
      const ms = performance.now() - began;
      console.log(`tab ${i + 1}: its first row after ${ms.toFixed(0)} ms`);
      assert.ok(ms < 1_500 * 4, `tab ${i + 1} took ${ms} ms`);
      pages.push(page);
      await pages[i]?.waitForSelector('[data-live=live]');
    }
    assert.is(opened, 1);
    const before = await counts(pages);
    await rename(base, 3);
    await eventually(async () => (await counts(pages)).every((count, i) => count === (before[i] ?? 0) + 3));
    const [leader, ...others] = pages;
    await leader?.close();
    await eventually(async () => opened === 2);
    await rename(base, 3);
    await eventually(async () => (await counts(others)).every((count, i) => count === (before[i + 1] ?? 0) + 6));
    await pause(1_000);
    assert.ok(
      (await counts(others)).every((count, i) => count === (before[i + 1] ?? 0) + 6),
      'none came twice',
    );
    assert.is(opened, 2);
  });

  test('a hidden tab holds no connection, and catches up when it is shown, alone or beside others', async (stand) => {
    const { open, base } = stand;
    for (const isAlone of [true, false]) {
      const other = isAlone ? null : await open('/help');
      await other?.waitForSelector('[data-live=live]');
      const page = await open('/help');
      const connections = isAlone ? await openConnections(page) : null; // beside another the stream is that one's
      await page.waitForSelector('[data-live=live]');
      await page.waitForSelector('main[data-state=ready]'); // what the page reads itself may begin after the stream
      const before = await count(page);
      await setVisibility(page, 'hidden');
      await page.waitForSelector('[data-live=paused]', { state: 'attached' });
      if (connections) await eventually(async () => connections.open().length === 0);
      const begun = [...(connections?.begun() ?? [])];
      await rename(base, 3);
      await pause(1_000);
      assert.is(await count(page), before, 'hidden, it gets nothing');
      if (connections) assert.equal(connections.begun(), begun);
      const shown = performance.now();
      await setVisibility(page, 'visible');
      await eventually(async () => (await count(page)) >= before + 3);
      console.log(
        `caught up ${isAlone ? 'alone' : 'beside another tab'} after ${(performance.now() - shown).toFixed(0)} ms`,
      );
      await rename(base, 1);
      await pause(1_500);
      assert.is(await count(page), before + 4, 'each came once');
      await page.close();
      await other?.close();
    }
  });

  test('the leader hides: who is visible reads on, and the hidden one misses nothing either', async ({
    open,
    base,
  }) => {
    const [first, second] = [await open('/help'), await open('/help')];
    for (const page of [first, second]) await page.waitForSelector('[data-live=live]');
    const before = await counts([first, second]);
    await setVisibility(first, 'hidden');
    await rename(base, 2);
    await eventually(async () => (await count(second)) === (before[1] ?? 0) + 2);
    await setVisibility(first, 'visible');
    await eventually(async () => (await count(first)) === (before[0] ?? 0) + 2);
    await pause(1_000);
    assert.equal(await counts([first, second]), [(before[0] ?? 0) + 2, (before[1] ?? 0) + 2]);
  });

  test('without locks each tab has a stream of its own', async ({ browser, base }) => {
    const page = await browser.newPage();
    await page.addInitScript(`delete Navigator.prototype.locks`);
    await page.goto(`${base}/help`);
    await page.waitForSelector('[data-live=live]');
    const before = await count(page);
    await rename(base, 2);
    await eventually(async () => (await count(page)) === before + 2);
    await page.close();
  });

  test.run();
});

const count = async (page: Page): Promise<number> =>
  Number(await page.locator('[data-events]').getAttribute('data-events'));
const counts = (pages: readonly Page[]): Promise<number[]> => Promise.all(pages.map(count));
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let names = 0;

/** Changes so many sessions, each of which makes one event. */
async function rename(base: WebStand['base'], sessions: number): Promise<void> {
  const { items } = (await (await fetch(`${base}/v1/sessions?limit=${sessions}`)).json()) as {
    items: { id: string }[];
  };
  assert.is(items.length, sessions);
  for (const { id } of items) {
    names += 1;
    const response = await fetch(`${base}/v1/sessions/${id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ display_name: `name ${names}` }),
    });
    assert.is(response.status, 200, await response.text());
  }
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + SOON_MS;
  while (!(await holds())) {
    if (performance.now() > until) throw new Error('it did not come to be');
    await pause(50);
  }
}
