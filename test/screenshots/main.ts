/**
 * `npm run screenshots`: each page of the web UI, in both themes and two widths, as `.screenshots/<page>-<theme>-<width>.png`, to be looked at.
 * `npm run screenshots -- talk` for those with that in their name. Git ignores the folder.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { emptyFolder, eventually, read, removeFolder, startService } from '../support/serve.ts';
import { shownPages } from '../support/shown-pages.ts';
import { bundled, openChromium, seedDemo } from '../support/web.ts';

const INTO = '.screenshots';
const HEIGHT = 900;

await bundled();
await mkdir(INTO, { recursive: true });
const folder = await emptyFolder();
const service = await startService(folder, { SVC_CASSETTES_BUILT_IN: 'true' });
const { browser, close } = await openChromium();
try {
  const base = service.api.replace('//localhost:', '//127.0.0.1:');
  await seedDemo(base);
  type Cassettes = { cassettes: { state: string }[] };
  await eventually('all cassettes', async () =>
    (await read<Cassettes>(`${base}/v1/cassettes`)).cassettes.every(({ state }) => state === 'admitted'),
  );
  const wanted = process.argv.slice(2);
  for (const { name, path, prepare } of await shownPages(base)) {
    if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
    for (const width of [1280, 400])
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await browser.newPage();
        await page.setViewportSize({ width, height: HEIGHT });
        await page.emulateMedia({ colorScheme });
        await page.goto(`${base}${path}`);
        await page.waitForSelector('main[data-state]:not([data-state=loading])');
        await prepare?.(page);
        await page.waitForTimeout(300); // fonts, and what comes with the next frames
        await page.screenshot({ path: join(INTO, `${name}-${colorScheme}-${width}.png`) });
        await page.close();
      }
    console.log(name);
  }
} finally {
  await close();
  await service.stop();
  await removeFolder(folder);
}
