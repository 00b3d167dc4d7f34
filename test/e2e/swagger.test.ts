/** Does the page of the contract work without the web? In a real browser that may reach this machine and nothing else. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../core/api/app.ts';
import { serveApp } from '../../core/http/listen.ts';
import { type Document, operationsOf } from '../support/openapi-fuzz/document.ts';
import { testApi } from '../support/read-api.ts';

const CHROMIUM = process.env.SVC_TEST_CHROMIUM ?? '/usr/bin/chromium';
const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'],
];

const test = suite('the page of the contract');

test('it shows every operation, and asks nobody but us', async () => {
  const app = testApi();
  const { addresses, close } = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
  const base = addresses[0] ?? '';
  const profile = await mkdtemp(join(tmpdir(), 'svc-chromium-'));
  const browser = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGS });
  try {
    const page = await browser.newPage();
    const elsewhere: string[] = [];
    const problems: string[] = [];
    await browser.route('**', (route) => {
      const { protocol, origin } = new URL(route.request().url());
      if (origin === base || protocol === 'data:') return route.continue();
      elsewhere.push(route.request().url());
      return route.abort();
    });
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) problems.push(message.text());
    });
    page.on('pageerror', (thrown) => problems.push(thrown.message));
    page.on('requestfailed', (request) => problems.push(`${request.url()}: ${request.failure()?.errorText}`));

    await page.goto(`${base}/swagger`);
    await page.waitForSelector('.opblock');
    const shown = await page.$$eval('.opblock', (blocks) =>
      blocks.map((block) => {
        const method = block.querySelector('.opblock-summary-method')?.textContent ?? '';
        return `${method} ${block.querySelector('.opblock-summary-path')?.getAttribute('data-path') ?? ''}`;
      }),
    );
    const described = operationsOf(readContract('0') as unknown as Document);
    assert.equal(shown.sort(), described.map(({ method, path }) => `${method} ${path}`).sort());

    await page.click('#operations-service-ping .opblock-summary-control');
    await page.click('#operations-service-ping .try-out__btn');
    await page.click('#operations-service-ping .execute');
    await page.waitForSelector('#operations-service-ping .live-responses-table .response');
    assert.match(await page.locator('#operations-service-ping .live-responses-table').innerText(), 'pong');

    assert.equal(elsewhere, []);
    assert.equal(problems, []);
    if (process.env.SVC_TEST_SCREENSHOT)
      await page.screenshot({ path: process.env.SVC_TEST_SCREENSHOT, fullPage: true });
  } finally {
    await browser.close();
    await close(0);
    await rm(profile, { recursive: true, force: true });
  }
});

test('where the service wants a token the page asks for it, keeps it for its tab, and sends it along', async () => {
  const app = testApi({ token: 'open-sesame-1' });
  const { addresses, close } = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
  const base = addresses[0] ?? '';
  const profile = await mkdtemp(join(tmpdir(), 'svc-chromium-'));
  const browser = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGS });
  try {
    const page = await browser.newPage();
    await page.goto(`${base}/swagger`);
    await page.waitForSelector('#token input', { state: 'visible' });
    await page.fill('#token input', 'a wrong one');
    const refused = page.waitForResponse((response) => response.status() === 401);
    await page.click('#token button');
    await refused; // else the right one is typed before the wrong one was tried
    await page.waitForSelector('#token input', { state: 'visible' });
    assert.is(await page.locator('.opblock').count(), 0);
    await page.fill('#token input', 'open-sesame-1');
    await page.click('#token button');
    await page.waitForSelector('.opblock');
    assert.is(await page.locator('#token').isVisible(), false);
    assert.is(page.url(), `${base}/swagger`, 'the token is in no address');

    const cassettes = '#operations-cassettes-listCassettes';
    await page.click(`${cassettes} .opblock-summary-control`);
    await page.click(`${cassettes} .try-out__btn`);
    await page.click(`${cassettes} .execute`);
    await page.waitForSelector(`${cassettes} .live-responses-table .response`);
    assert.match(await page.locator(`${cassettes} .live-responses-table`).innerText(), '"cassettes"');

    await page.reload();
    await page.waitForSelector('.opblock');
    const other = await browser.newPage();
    await other.goto(`${base}/swagger`);
    await other.waitForSelector('#token input', { state: 'visible' });
  } finally {
    await browser.close();
    await close(0);
    await rm(profile, { recursive: true, force: true });
  }
});

if (!existsSync(CHROMIUM)) console.log(`skip: the page of the contract: there is no ${CHROMIUM}`);
else test.run();
