/** The bearer token of the web UI in a real browser: it comes once, by the address or the dialog, and goes nowhere but into a header. */
import { readFile } from 'node:fs/promises';
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
      assert.is(
        await page.evaluate(() => document.activeElement?.getAttribute('name')),
        'token',
        'it can be typed at once',
      );
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

    test('with it every view, the stream and downloads work, and nothing of it outlasts the tab', async ({
      open,
      base,
    }) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const get = async <T>(path: string) => (await (await fetch(`${base}${path}`, { headers })).json()) as T;
      const [session] = (await get<{ items: { id: string }[] }>('/v1/sessions')).items;
      type Turns = { items: { raw_turn_id: number }[] };
      const [turn] = (await get<Turns>(`/v1/sessions/${session?.id}/raw_turns`)).items;
      const page = await open(`/help#token=${encodeURIComponent(TOKEN)}`);
      const own = `/sessions/${session?.id}`;
      for (const [path, shown] of [
        ['/', '[data-session]'],
        [own, '[data-row=step]'],
        [`${own}/time`, '[data-row]'],
        [`${own}/calls`, '.call-row'],
        ['/spend', '[data-by=model]'],
        ['/cassettes', 'main'],
        ['/health', '[data-outcome]'],
        [`${own}/cache`, '.cache-lens'],
        [`${own}/calls/${turn?.raw_turn_id}`, '[data-group]'],
        [`${own}/calls/${turn?.raw_turn_id}/bytes`, '.side[data-state=ready]'],
      ] as const) {
        await page.goto(`${base}${path}`);
        await page.waitForSelector('main:is([data-state=ready], [data-state=empty])');
        await page.locator(shown).first().waitFor();
        await page.waitForSelector('[data-live=live]', { state: 'attached' });
        assert.is(await page.locator('dialog').count(), 0, path);
      }
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download' }).first().click(),
      ]);
      assert.ok((await readFile(await download.path())).byteLength > 0);
      assert.not.match(await page.evaluate(() => JSON.stringify(localStorage)), TOKEN);
      assert.not.match(await page.evaluate(() => document.cookie), TOKEN);
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
