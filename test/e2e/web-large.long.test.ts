/** The longest sessions in a real browser: a hundred thousand spans are on screen soon, and long ways through them scroll smoothly. */
import * as assert from 'uvu/assert';
import type { Outline } from '../../core/model/outline.ts';
import { read } from '../support/serve.ts';
import { assertSmoothScroll, LONG_LISTS } from '../support/smooth-scroll.ts';
import { storedLargeSession } from '../support/stored-large-session.ts';
import { inBrowser, marked } from '../support/web.ts';

/** Four times the bar. */
const READY_MS = 10_000;
const SCROLLED_SECONDS = 10;
/** The bar is for ten thousand spans; the columns of ten times as many take some 30 MB more. */
const HEAP_MB = { L10: 60, L100: 120 };

inBrowser(
  'a session of a hundred thousand spans',
  (test) => {
    const ids = new Map<string, string>();

    test.before(async ({ service }) => {
      for (const name of ['L10', 'L100'] as const) ids.set(name, await storedLargeSession(service, name));
    });

    for (const name of ['L10', 'L100'] as const)
      for (const { path, ready, scroller } of LONG_LISTS)
        test(`${name}${path} is soon there, and scrolls without a late frame or a blank row, in little memory`, async ({
          open,
        }) => {
          const page = await open(`/sessions/${ids.get(name)}${path}`);
          const ms = await marked(page, ready);
          console.log(`${name}${path}: readable after ${ms.toFixed(0)} ms`);
          assert.ok(ms <= READY_MS, `${ms} ms`);
          await marked(page, 'svc:outline-complete');
          await assertSmoothScroll(page, scroller, SCROLLED_SECONDS, HEAP_MB[name]);
        });

    test('a link to a span that comes with a later page of the outline opens there', async ({ open, service }) => {
      const id = ids.get('L100') ?? '';
      let [span, cursor]: [string, string | undefined] = ['', undefined];
      do {
        const path = `/v1/sessions/${id}/outline${cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`}`;
        const answer: Outline = await read(`${service.api}${path}`);
        span = answer.spans.span_id.at(-1) ?? '';
        cursor = answer.next_cursor;
      } while (cursor !== undefined);
      const page = await open(`/sessions/${id}?span=${span}`);
      console.log(`L100: the oldest span after ${(await marked(page, 'svc:span-ready')).toFixed(0)} ms`);
      await page.locator(`[data-span="${span}"]:focus, [data-span="${span}"] :focus`).first().waitFor();
      const box = await page.locator(`[data-span="${span}"]`).first().boundingBox();
      assert.ok(box && box.y >= 0 && box.y < (page.viewportSize()?.height ?? 0), `in view: ${JSON.stringify(box)}`);
    });

    test.run();
  },
  { demo: false },
);
