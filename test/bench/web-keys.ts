/** B11: how soon after a key is its effect painted, in a session of ten thousand spans? */
import { bounded, heading, row, wholeMs } from './figures.ts';
import { blankPage, markedOn } from './web-page.ts';
import type { Ground } from './web-stand.ts';

/** On by a row, to the next error, all tools folded and unfolded, to another lens and back. */
const KEYS = ['j', 'j', 'e', 'f', 'j', '2', 'j', '1'];
const PRESSES = 200;

export async function benchKeys(ground: Ground): Promise<void> {
  const { base, ids } = await ground.longSessions();
  const { context, page } = await blankPage(await ground.browser());
  await page.goto(`${base}/sessions/${ids.L10}`);
  await markedOn(page, 'svc:talk-ready');
  await page.evaluate(() => {
    const slow: { key: string; ms: number }[] = [];
    Object.assign(globalThis, { slow });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & { interactionId: number })[])
        if (entry.interactionId > 0) slow.push({ key: entry.name, ms: entry.duration });
    }).observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
  });
  for (let n = 0; n < PRESSES; n++) {
    await page.keyboard.press(KEYS[n % KEYS.length] ?? 'j');
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  }
  const slow = await page.evaluate(() => (globalThis as unknown as { slow: { key: string; ms: number }[] }).slow);
  const worst = slow.filter(({ key }) => key === 'keydown').map((one) => one.ms);
  worst.sort((a, b) => b - a);
  heading(`${PRESSES} keys in L10, until what they do is painted`);
  bounded('B11 p98', worst[Math.floor(PRESSES * 0.02)] ?? 0, 100); // those below 16 ms are not noted
  row('the slowest', wholeMs(worst[0] ?? 0));
  row('slower than 16 ms', String(worst.length));
  await context.close();
}
