/** B17: how soon is a text found in a session of ten thousand spans, first anywhere and then everywhere, and how soon is it shown? */
import { bounded, heading, median, row } from './figures.ts';
import { blankPage, markedOn } from './web-page.ts';
import type { Ground } from './web-stand.ts';

const TEXTS = ['part-42.ts', 'engine cache log', 'Step 77'];
const ROUNDS = 3;

type Times = { first: number; all: number; shown: number; hits: number };

export async function benchFind(ground: Ground): Promise<void> {
  const { base, ids } = await ground.longSessions();
  for (const name of ['L10', 'L1T'] as const) {
    const { context, page } = await blankPage(await ground.browser());
    await page.goto(`${base}/sessions/${ids[name]}`);
    await markedOn(page, 'svc:talk-ready');
    await markedOn(page, 'svc:outline-complete');
    await page.evaluate(() => {
      const note = ({ key, timeStamp }: KeyboardEvent) => {
        if (key === 'Enter') performance.mark('pressed', { startTime: timeStamp });
      };
      addEventListener('keydown', note, { capture: true });
    });
    const times: Times[] = [];
    for (let round = 0; round < ROUNDS; round++)
      for (const text of TEXTS) {
        await page.keyboard.press('Control+f');
        await page.waitForSelector('.find-bar input:focus');
        await page.evaluate(() => performance.clearMarks());
        await page.keyboard.insertText(text);
        await page.keyboard.press('Enter');
        await markedOn(page, 'svc:find-complete');
        await markedOn(page, 'svc:find-shown');
        const [began = 0, first = 0, all = 0, shown = 0] = await page.evaluate(() =>
          ['pressed', 'svc:find-first', 'svc:find-complete', 'svc:find-shown'].map(
            (mark) => performance.getEntriesByName(mark)[0]?.startTime,
          ),
        );
        const hits = Number(await page.getAttribute('.find-bar', 'data-hits'));
        times.push({ first: first - began, all: all - began, shown: shown - began, hits });
        await page.keyboard.press('Escape');
      }
    heading(`A text in ${name}, from Enter; ${times.map(({ hits }) => hits).join(', ')} hits`);
    bounded(`B17 ${name}, the first hit, median`, median(times.map(({ first }) => first)), 300);
    bounded(`B17 ${name}, all of them, median`, median(times.map(({ all }) => all)), 3_000);
    row('the first one marked and in view, median', `${median(times.map(({ shown }) => shown)).toFixed(0)} ms`);
    await context.close();
  }
}
