/** Every page of the web UI in a real browser, in both themes and two widths: nothing that axe finds, nothing too small, nothing sideways. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { fitsSideways, smallTargets, violations } from '../support/axe.ts';
import { eventually, read } from '../support/serve.ts';
import { type ShownPage, shownPages } from '../support/shown-pages.ts';
import { inBrowser } from '../support/web.ts';

const HEIGHT = 800;
const ZOOMED = 640; // what a window of 1,280 pixels has at 200 %

inBrowser(
  'every page of the web UI',
  (test) => {
    let pages: ShownPage[] = [];

    test.before(async ({ base }) => {
      type Cassettes = { cassettes: { state: string }[] };
      await eventually('all cassettes', async () =>
        (await read<Cassettes>(`${base}/v1/cassettes`)).cassettes.every(({ state }) => state === 'admitted'),
      );
      pages = await shownPages(base);
    });

    test('has nothing that axe finds, no target too small to hit and nothing to scroll sideways', async ({ open }) => {
      const found: string[] = [];
      for (const { name, path, prepare } of pages) {
        const page = await open(path);
        await prepare?.(page);
        for (const width of [1280, 400])
          for (const colorScheme of ['light', 'dark'] as const) {
            const at = `${name}, ${colorScheme}, ${width} px`;
            await page.emulateMedia({ colorScheme });
            await sized(page, width);
            for (const violation of await violations(page)) found.push(`${at}: ${violation}`);
            for (const target of await smallTargets(page)) found.push(`${at}: too small: ${target}`);
            if (!(await fitsSideways(page))) found.push(`${at}: scrolls sideways`);
          }
        await sized(page, ZOOMED);
        if (!(await fitsSideways(page))) found.push(`${name} at 200 %: scrolls sideways`);
        await page.close();
      }
      assert.equal(found, []);
    });

    test('keeps still for whoever wants less motion', async ({ open }) => {
      for (const { name, path, prepare } of pages) {
        const page = await open(path);
        await page.emulateMedia({ reducedMotion: 'reduce' });
        await prepare?.(page);
        const moving = await page.evaluate(() =>
          document.getAnimations().map(({ effect }) => (effect as KeyframeEffect).target?.outerHTML.slice(0, 120)),
        );
        assert.equal(moving, [], name);
        await page.close();
      }
    });

    test('shows the focus where the colours are the reader’s own', async ({ open }) => {
      const page = await open('/');
      await page.emulateMedia({ forcedColors: 'active' });
      for (let tabs = 0; tabs < 12; tabs++) {
        await page.keyboard.press('Tab');
        const [style, element] = await page.evaluate(() => {
          const focused = document.activeElement ?? document.body;
          return [getComputedStyle(focused).outlineStyle, focused.outerHTML.slice(0, 80)];
        });
        assert.is.not(style, 'none', element);
      }
    });

    test.run();
  },
  { env: { SVC_CASSETTES_BUILT_IN: 'true' } },
);

/** The page in that width, laid out. */
async function sized(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: HEIGHT });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}
