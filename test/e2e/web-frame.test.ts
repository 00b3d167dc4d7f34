/** The frame of the web UI in a real browser: its keys, its themes and widths, and what a reader without eyes or mouse gets of it. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { inBrowser } from '../support/web.ts';

const PAGES = ['sessions', 'spend', 'find', 'skills', 'cassettes', 'health', 'help'];

inBrowser('the frame of the web UI', (test) => {
  test('has landmarks, one heading of the first level, and a link that skips to the page', async ({ open }) => {
    for (const name of PAGES) {
      const page = await open(`/${name}`);
      assert.is(await page.locator('h1').count(), 1, name);
      for (const landmark of ['header', 'nav', 'main', 'search']) assert.is(await page.locator(landmark).count(), 1);
      assert.is(await page.locator('main').getAttribute('data-page'), name);
      await page.keyboard.press('Tab');
      assert.is(await page.evaluate('document.activeElement.textContent.trim()'), 'Skip to the page');
      await page.keyboard.press('Enter');
      assert.is(await page.evaluate('document.activeElement.id'), 'main');
      await page.close();
    }
  });

  test('is led by keys: two strokes go to a page, one finds, and the sheet shows what works', async ({ open }) => {
    const page = await open('/help');
    for (const [keys, name] of [
      ['gp', 'spend'],
      ['gh', 'health'],
      ['gs', 'sessions'],
    ] as const) {
      await page.keyboard.type(keys);
      await page.waitForSelector(`main[data-page=${name}]`);
      assert.is(new URL(page.url()).pathname, `/${name}`);
    }
    await page.keyboard.press('/');
    assert.is(await focusedName(page), 'q');
    await page.keyboard.type('gp');
    assert.is(await page.inputValue('input[name=q]'), 'gp', 'who types gives no command');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    const sheet = page.locator('dialog[open]');
    await sheet.waitFor();
    for (const does of ['show these keys', 'change the theme', 'go to Sessions', 'find'])
      assert.is(
        await sheet.getByText(does, { exact: true }).count(),
        1,
        `${does} is not in ${await sheet.innerHTML()}`,
      );
    await page.keyboard.type('gp');
    assert.is(new URL(page.url()).pathname, '/sessions', 'a dialog is above the page and its keys');
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await page.goBack();
    await page.waitForSelector('main[data-page=health]');
  });

  test('takes single letters for commands only as long as that is wanted', async ({ open }) => {
    const page = await open('/help');
    await page.keyboard.press('?');
    await page.getByLabel('Single letters and signs are commands').uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.type('gp?');
    assert.is(await page.locator('main').getAttribute('data-page'), 'help');
    assert.is(await page.locator('dialog').count(), 0);
    await page.reload();
    await page.waitForSelector('main');
    await page.keyboard.type('?');
    assert.is(await page.locator('dialog').count(), 0, 'it is remembered');
    await page.getByRole('button', { name: 'Keys' }).click();
    await page.getByLabel('Single letters and signs are commands').check();
    assert.is(await page.evaluate(`localStorage.getItem('svc-letter-keys')`), 'on');
  });

  test('gives the focus back to where it was', async ({ open }) => {
    const page = await open('/help');
    const keys = page.getByRole('button', { name: 'Keys' });
    await keys.focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    for (let i = 0; i < 6; i += 1) await page.keyboard.press('Tab');
    const where = await page.evaluate(
      `document.activeElement === document.body || document.activeElement.closest('dialog') !== null`,
    );
    assert.is(where, true, 'what is below a dialog cannot be reached');
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    assert.is(await page.evaluate(`document.activeElement.getAttribute('aria-label')`), 'Keys');
  });

  test('changes its theme and remembers it; the document never shows the other first', async ({ open }) => {
    const page = await open('/help');
    const ground = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    for (const [theme, color] of [
      ['light', 'rgb(255, 255, 255)'],
      ['dark', 'rgb(15, 18, 22)'],
    ] as const) {
      await page.keyboard.press('T');
      await page.waitForSelector(`html[data-theme=${theme}]`);
      assert.is(await ground(), color);
    }
    await page.reload();
    await page.waitForSelector('main');
    assert.is(await ground(), 'rgb(15, 18, 22)');
    await page.keyboard.press('T');
    await page.waitForSelector('html[data-theme=auto]');
  });

  test('a page whose script cannot be loaded says so, and is loaded again', async ({ open }) => {
    const page = await open('/sessions', { tolerated: [/Failed to load resource/] });
    const scripts = /\/service-[^/]*\.js$/;
    await page.route(scripts, (route) => route.abort());
    await page.keyboard.type('gh');
    await page.locator('.problem', { hasText: 'could not be loaded' }).waitFor();
    await page.unroute(scripts);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.waitForSelector('main[data-page=health]');
  });

  test('the search has the words that are looked for, also after Back', async ({ open }) => {
    const page = await open('/help');
    const search = page.locator('input[name=q]');
    for (const words of ['harbour', 'quay']) {
      await search.fill(words);
      await search.press('Enter');
      await page.waitForFunction((q) => new URL(location.href).searchParams.get('q') === q, words);
    }
    await page.goBack();
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('input[name=find]')?.value === 'harbour');
    assert.is(await search.inputValue(), 'harbour');
  });

  test('an address that names nothing shows a page that says so', async ({ open }) => {
    for (const path of ['/skills/a/b/c', '/sessions/%E0%A4%A']) {
      const page = await open(path, { tolerated: [/404|400/] });
      assert.is(await page.locator('h1').count(), 1, path);
    }
  });

  test.run();
});

const focusedName = (page: Page) => page.evaluate(`document.activeElement.getAttribute('name')`);
