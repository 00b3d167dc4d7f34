/** B1 to B4: how much script does the list of sessions load, and how soon has it its first row when many sessions are stored? */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AssetManifest } from '../../core/web/assets.ts';
import { bounded, heading, kilobytes, median, row } from './figures.ts';
import { putNodes } from './put-nodes.ts';
import { blankPage, type PageTimes, pageTimes } from './web-page.ts';
import type { Ground } from './web-stand.ts';

const LOADS = 7;
const KB = 1024;
const ROWS = { mark: 'svc:rows', what: 'sessions' } as const;

export async function benchLoad(ground: Ground): Promise<void> {
  const { base } = await ground.start('sessions', (database) => putNodes(database, 100_000, 10));
  heading('Script and style, compressed');
  await benchSizes(ground, base);
  for (const { name, slower, paint, first } of [
    { name: 'B3', slower: 1, paint: 250, first: 450 },
    { name: 'B4', slower: 4, paint: 600, first: 1_200 },
  ]) {
    heading(`The list of 100,000 sessions in a new profile${slower > 1 ? `, processor ${slower} times slower` : ''}`);
    const loads: PageTimes[] = [];
    for (let n = -1; n < LOADS; n++) {
      const load = await loaded(ground, base, slower);
      if (n >= 0) loads.push(load); // the service's first answer plans and fills caches
    }
    bounded(`${name} first paint, median of ${LOADS}`, median(loads.map(({ firstPaint }) => firstPaint)), paint);
    bounded(`${name} first row, median of ${LOADS}`, median(loads.map(({ shown }) => shown)), first);
  }
}

async function loaded(ground: Ground, base: string, slower: number): Promise<PageTimes> {
  const { context, page, cdp } = await blankPage(await ground.browser(), ROWS);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slower });
  await page.goto(`${base}/`);
  const times = await pageTimes(page);
  await context.close();
  return times;
}

async function benchSizes(ground: Ground, base: string): Promise<void> {
  const { bodies, heads } = await scriptOnTheWire(ground, base);
  bounded('B1 script before the first row, on the wire', bodies, 45 * KB, kilobytes);
  row('the heads of these responses', kilobytes(heads));
  const manifest = join((await ground.built()).folder, 'dist/core/web/assets/manifest.json');
  const { files } = JSON.parse(await readFile(manifest, 'utf8')) as AssetManifest;
  const sum = (ending: string) =>
    Object.entries(files).reduce((bytes, [name, { br }]) => bytes + (name.endsWith(ending) ? br : 0), 0);
  bounded('B2 script in all', sum('.js'), 150 * KB, kilobytes);
  bounded('B2 style', sum('.css'), 14 * KB, kilobytes);
}

/** As they are compressed; the heads of the responses are apart. */
async function scriptOnTheWire(ground: Ground, base: string): Promise<{ bodies: number; heads: number }> {
  const { context, page, cdp } = await blankPage(await ground.browser(), ROWS);
  const bodyOf = new Map<string, number>();
  let [bodies, heads] = [0, 0];
  cdp.on('Network.responseReceived', ({ requestId, response }) => {
    const { pathname } = new URL(response.url);
    if (pathname.endsWith('.js')) bodyOf.set(requestId, Number(response.headers['content-length']));
  });
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const body = bodyOf.get(requestId);
    if (body === undefined) return;
    bodies += body;
    heads += encodedDataLength - body;
  });
  await cdp.send('Network.enable');
  await page.goto(`${base}/`);
  await pageTimes(page);
  await context.close();
  return { bodies, heads };
}
