/** Without a mouse: from the list to a tool that failed, its result, its call as a command, the bytes of that call, and back. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { inBrowser } from '../support/web.ts';

inBrowser(
  'the web UI by keys',
  (test) => {
    test('leads from the list to a failing tool, its call as a command, its bytes, and back', async ({ open }) => {
      const page = await open('/');
      await page.locator('[data-session]').first().waitFor();
      const press = pressing(page);
      for (let row = 0; row < 12; row++) {
        await press('j');
        if ((await focusedText(page)).includes('departs today')) break;
      }
      assert.match(await focusedText(page), 'departs today');
      await press('Enter', false);
      await page.locator('main[data-page=session] .talk-list [data-row=step]').first().waitFor();
      await assertFocus(page, 'in the session');

      await press('e');
      await page.locator('[data-row=tool]:focus, [data-row=tool] :focus').first().waitFor();
      const tool = page.locator('[data-row=tool]:focus, [data-row=tool]:has(:focus)').first();
      assert.match((await tool.getAttribute('data-status')) ?? '', /error|blocked/);
      const span = await tool.getAttribute('data-span');
      await press('o');
      const result = page.locator(`[data-row=tool][data-span="${span}"] .tool-result`).first();
      await result.waitFor();
      assert.ok(((await result.textContent()) ?? '').length > 0);

      await press('Y');
      await page.locator('dialog [data-copy="The call as curl"]').waitFor();
      await tabTo(page, 'The call as curl');
      await press('Enter', false);
      await page.locator('dialog').waitFor({ state: 'detached' });
      await page.getByText('Copied').waitFor();
      await assertFocus(page, 'after the dialog');
      await press('/'); // our policy lets no script read the clipboard
      await press('Control+V');
      assert.match(await page.evaluate(() => (document.activeElement as HTMLInputElement).value), /^curl /);
      await press('Escape');

      await press('i');
      await page.locator('.span-panel[data-kind=tool]').waitFor();
      await tabTo(page, /^claude-/); // the call that wanted it
      await press('Enter', false);
      await page.locator('.span-panel[data-kind=llm]').waitFor();
      await tabTo(page, /^call \d+, raw turn \d+$/);
      await press('Enter', false);
      await page.locator('.side[data-state=ready]').first().waitFor();
      await page.keyboard.press('Tab');
      await assertFocus(page, 'among the bytes');
      await page.goBack(); // Alt and the left arrow are the browser's own
      await page.locator('.talk-list [data-row] :focus, .talk-list [data-row]:focus, main:focus').first().waitFor();
      await press('E');
    });

    test.run();
  },
  { context: { permissions: ['clipboard-read', 'clipboard-write'] } },
);

/** Presses a key; then something has the focus, and shows it. */
const pressing =
  (page: Page) =>
  async (key: string, staysOnPage = true): Promise<void> => {
    await page.keyboard.press(key);
    if (!staysOnPage) return;
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await assertFocus(page, key);
  };

const MOST_TABS = 120;
const FOCUS_MS = 10_000;

/** Goes on by Tab to what has that text. */
async function tabTo(page: Page, text: string | RegExp): Promise<void> {
  for (let tabs = 0; tabs < MOST_TABS; tabs++) {
    await page.keyboard.press('Tab');
    await assertFocus(page, `Tab to ${text}`);
    const own = (await focusedText(page)).trim();
    if (typeof text === 'string' ? own === text : text.test(own)) return;
  }
  throw new Error(`Tab never comes to ${text}`);
}

const focusedText = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');

/** Nothing lost: an element in view has the focus, and a ring shows it. A row may get it some frames after the list has scrolled. */
async function assertFocus(page: Page, after: string): Promise<void> {
  const until = Date.now() + FOCUS_MS;
  let { element, ...holds } = await focusOf(page);
  while (!(holds.isSomewhere && holds.isInView && holds.hasRing) && Date.now() < until) {
    await page.waitForTimeout(20);
    ({ element, ...holds } = await focusOf(page));
  }
  assert.equal(holds, { isSomewhere: true, isInView: true, hasRing: true }, `${after}: ${element}`);
}

const focusOf = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement ?? document.body;
    const rings = [getComputedStyle(element), getComputedStyle(element, '::after')];
    const { top, bottom, width } = element.getBoundingClientRect();
    return {
      element: element.outerHTML.slice(0, 120),
      isSomewhere: element !== document.body && element.isConnected,
      isInView: width > 0 && bottom > 0 && top < innerHeight,
      hasRing: rings.some(({ outlineStyle, boxShadow }) => outlineStyle === 'solid' || boxShadow !== 'none'),
    };
  });
