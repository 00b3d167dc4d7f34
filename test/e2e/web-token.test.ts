/** The bearer token of the web UI in a real browser: it comes once, by the address or the dialog, and goes nowhere but into a header. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { inBrowser } from '../support/web.ts';

const TOKEN = 'a-token/of+the.tests';
const REFUSED = [/401/]; // the browser itself reports each refused answer

inBrowser(
  'the token of the web UI',
  (test) => {
    test('comes by the address, which forgets it before anything is asked for', async ({ open }) => {
      const page = await open(`/help#token=${encodeURIComponent(TOKEN)}`);
      await page.waitForSelector('[data-live=live]');
      assert.is(new URL(page.url()).hash, '');
      assert.not.match(String(await page.evaluate('navigation.entries().map(({ url }) => url).join()')), 'token');
      assert.is(await page.evaluate(`sessionStorage.getItem('svc-token')`), TOKEN);
      assert.is(await page.evaluate('JSON.stringify(localStorage).includes("token/of")'), false);
      await page.reload();
      await page.waitForSelector('[data-live=live]');
      assert.is(await page.locator('dialog').count(), 0, 'it lasts as long as the tab');
    });

    test('is asked for in a new tab, which the shell reaches without it; a wrong one is asked for again', async ({
      open,
    }) => {
      const page = await open('/help', { ready: false, tolerated: REFUSED });
      const dialog = page.locator('dialog[open]');
      await dialog.waitFor();
      assert.is(await page.locator('[data-live]').getAttribute('data-live'), 'connecting');
      await enter(page, 'wrong');
      await dialog.getByText('The service refused the token').waitFor();
      await enter(page, TOKEN);
      await dialog.waitFor({ state: 'detached' });
      await page.waitForSelector('[data-live=live]');
    });

    test('a link with it may be opened in a tab that shows the UI already', async ({ open }) => {
      const page = await open('/help', { ready: false, tolerated: REFUSED });
      await page.locator('dialog[open]').waitFor();
      await page.evaluate(`location.hash = '#token=' + encodeURIComponent(${JSON.stringify(TOKEN)})`);
      await page.locator('dialog[open]').waitFor({ state: 'detached' });
      await page.waitForSelector('[data-live=live]');
      assert.is(new URL(page.url()).hash, '');
    });

    test('no request has it in its address', async ({ open }) => {
      const page = await open('/help', { ready: false, tolerated: REFUSED });
      const addresses: string[] = [];
      page.on('request', (request) => addresses.push(request.url()));
      await page.goto(`${new URL(page.url()).origin}/sessions#token=${encodeURIComponent(TOKEN)}`);
      await page.waitForSelector('[data-live=live]');
      assert.ok(addresses.length > 0);
      assert.equal(
        addresses.map((address) => address.replace(/#.*/, '')).filter((address) => /token/i.test(address)),
        [],
      );
    });

    test.run();
  },
  { env: { SVC_API_TOKEN: TOKEN } },
);

async function enter(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.keyboard.press('Enter');
}
