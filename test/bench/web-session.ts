/** B5 to B7: how soon can a session of ten thousand spans be read, and a hundred thousand, at its beginning and in the middle? */
import type { Outline } from '../../core/model/outline.ts';
import { read } from '../support/serve.ts';
import { bounded, heading, median } from './figures.ts';
import { blankPage, markedOn, type PageTimes, pageTimes, type Readable } from './web-page.ts';
import type { Ground } from './web-stand.ts';

const LOADS = 7;
const WORST_OF = 5;
const TALK = { mark: 'svc:talk-ready', what: 'talk' } as const;

export async function benchSession(ground: Ground): Promise<void> {
  const { base, ids } = await ground.longSessions();
  heading('A long session in a new profile: from its address until the first screen can be read');
  for (const name of ['L10', 'L1T'] as const) {
    const shown = await loads(ground, `${base}/sessions/${ids[name]}`, TALK);
    bounded(`B5 ${name}, median of ${LOADS}`, median(shown), 600);
    bounded(`B5 ${name}, worst of ${WORST_OF}`, Math.max(...shown.slice(0, WORST_OF)), 1_000);
  }
  for (const name of ['L10', 'L1T'] as const) {
    const span = await spanAt(base, ids[name], 5_000);
    const path = `${base}/sessions/${ids[name]}?span=${span}`;
    const shown = await loads(ground, path, { mark: 'svc:span-ready', what: 'span', span });
    bounded(`B6 ${name}, the span 5,000 has the focus, median`, median(shown), 800);
  }
  bounded('B7 L100, median', median(await loads(ground, `${base}/sessions/${ids.L100}`, TALK)), 2_500);
}

async function loads(ground: Ground, address: string, readable: Readable): Promise<number[]> {
  const times: PageTimes[] = [];
  for (let n = -1; n < LOADS; n++) {
    const { context, page } = await blankPage(await ground.browser(), readable);
    await page.goto(address);
    const one = await pageTimes(page);
    if (n >= 0) times.push(one); // the service's first answer plans and fills caches
    await markedOn(page, 'svc:outline-complete'); // the database would go on with its rest, beside the next load
    await context.close();
  }
  return times.map(({ shown }) => shown);
}

async function spanAt(base: string, session: string, index: number): Promise<string> {
  const { spans } = await read<Outline>(`${base}/v1/sessions/${session}/outline`);
  return spans.span_id[index] ?? '';
}
