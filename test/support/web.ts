/** The web UI in a real browser: a whole service with a scripted provider, and Chromium, which may reach this machine and nothing else. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { bundleClient } from '../../core/build/bundle.mjs';
import { builtAssets } from '../../core/web/assets.ts';
import { eventually } from './serve.ts';
import { onEmbeddedDatabase, printing, type Stand } from './whole-service.ts';

const CHROMIUM = process.env.SVC_TEST_CHROMIUM ?? '/usr/bin/chromium';

const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'],
];

export type Opened = {
  /** Waits until the page shows what it has to show; default: true. */
  ready?: boolean;
  /** Complaints that this page may cause, such as a 404 that the test provokes. */
  tolerated?: readonly RegExp[];
};

export type WebStand = Stand & {
  /** `http://127.0.0.1:8081`, by number: names are not resolved. */
  base: string;
  browser: BrowserContext;
  /** Opens a path of the UI in a new page, which is watched; after the test it is closed. */
  open(path: string, opened?: Opened): Promise<Page>;
  /** Requests to other origins, errors on the console and reports of the policy, of all watched pages of this test. */
  complaints: string[];
};

type Options = {
  /** Environment variables of the service. */
  env?: Record<string, string>;
  /** Adds to them what comes with something that runs beside the service. */
  beside?: () => Promise<{ env: Record<string, string>; close(): Promise<unknown> }>;
  /** Whether the demo's sessions are in it; default: true. */
  demo?: boolean;
  /** Of the browser: width and height, colours, reduced motion. */
  context?: BrowserContextOptions;
};

/**
 * Declares a suite on the embedded database. A complaint of a page fails its test. Without Chromium it is skipped, and reports that.
 * @param define ends with `test.run()`
 */
export function inBrowser(
  name: string,
  define: (test: Test<WebStand>) => void,
  { env = {}, beside, demo = true, context: contextOptions = {} }: Options = {},
): void {
  if (!existsSync(CHROMIUM)) {
    console.log(`skip: ${name}: there is no ${CHROMIUM}`);
    return;
  }
  const prepared = async () => {
    await bundled();
    const more = await beside?.();
    return { env: { ...env, ...more?.env }, close: async () => more?.close() };
  };
  const declare = (stand: Test<Stand>) => {
    const test = stand as unknown as Test<WebStand>;
    let close = async () => {};
    const pages: Page[] = [];
    test.before(
      printing(async (context) => {
        const base = context.service.api.replace('//localhost:', '//127.0.0.1:');
        if (demo) await seedDemo(base, env.SVC_API_TOKEN);
        const opened = await openChromium(contextOptions);
        close = opened.close;
        const complaints: string[] = [];
        const open = async (path: string, { ready = true, tolerated = [] }: Opened = {}) => {
          const page = await opened.browser.newPage();
          pages.push(page);
          watch(page, base, (complaint) => {
            if (!tolerated.some((pattern) => pattern.test(complaint))) complaints.push(complaint);
          });
          await page.goto(`${base}${path}`);
          if (ready) await page.waitForSelector('main[data-state]:not([data-state=loading])');
          return page;
        };
        Object.assign(context, { base, browser: opened.browser, open, complaints });
      }),
    );
    test.after.each(async () => {
      for (const page of pages.splice(0)) await page.close();
    });
    test.after(() => close());
    define(watched(test));
  };
  onEmbeddedDatabase(name, declare, prepared);
}

/**
 * The suite, each test of which fails by a complaint of its pages too. (Not in `after.each`: what throws there after a test that failed
 * ends the suite, and nobody reads which test it was.)
 */
function watched(test: Test<WebStand>): Test<WebStand> {
  const declare: Test<WebStand> = Object.assign(
    (name: string, run: Parameters<Test<WebStand>>[1]) =>
      test(name, async (stand) => {
        try {
          await run(stand);
        } catch (thrown) {
          const found = stand.complaints.splice(0);
          if (found.length > 0) console.log(`complaints of the pages:\n${found.join('\n')}`);
          throw thrown;
        }
        assert.equal(stand.complaints.splice(0), []);
      }),
    test,
  );
  return declare;
}

/** Brings the bundle of the sources up to date; a service that was built has its own. */
export const bundled = (): Promise<boolean> =>
  bundleClient({ root: join(builtAssets(), '../../../..'), assets: builtAssets() });

export async function seedDemo(base: string, token = ''): Promise<void> {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
  const response = await eventually(
    'a database for the demo',
    async () => {
      const response = await fetch(`${base}/v1/admin/seed/demo`, { method: 'POST', headers });
      return response.status === 503 ? null : response; // on a busy machine its database may come later than the service
    },
    120_000,
  );
  assert.is(response.status, 200, await response.text());
  // it responds after some time at the latest, whether or not all of it is derived
  await eventually('the demo to be derived', async () => {
    const status = await fetch(`${base}/v1/admin/status`, { headers });
    return status.ok && ((await status.json()) as { derive: { queued: number } }).derive.queued === 0;
  });
}

/** Chromium with an empty profile, which goes when it is closed. */
export async function openChromium(
  options: BrowserContextOptions = {},
  args: readonly string[] = ARGS,
): Promise<{ browser: BrowserContext; close(): Promise<void> }> {
  const profile = await mkdtemp(join(tmpdir(), 'svc-chromium-'));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    args: [...args],
    ...options,
  });
  return {
    browser,
    close: async () => {
      await browser.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** Chromium, each of whose contexts is a profile that nothing was loaded into. */
export const startChromium = (): Promise<Browser> => chromium.launch({ executablePath: CHROMIUM, args: [...ARGS] });

/** Reports whatever a page of ours never does. A report of the policy comes as an error on the console. */
export function watch(page: Page, base: string, report: (complaint: string) => void): void {
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== base && !['blob:', 'data:', 'about:'].includes(protocol)) report(`request to ${request.url()}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') report(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (thrown) => report(`thrown: ${thrown.message}`));
}

/** When the page set this mark, in milliseconds since it was opened. */
export async function marked(page: Page, name: string): Promise<number> {
  const mark = await page.waitForFunction((wanted) => performance.getEntriesByName(wanted)[0]?.startTime, name);
  return (await mark.jsonValue()) ?? Number.NaN;
}
