/** Long sessions in a real browser: ten thousand spans, in many traces and in one, are on screen soon, scroll smoothly, and few of their rows exist. */
import * as assert from 'uvu/assert';
import { assertSmoothScroll, LONG_LISTS, MOST_NODES, nodesOf } from '../support/smooth-scroll.ts';
import { outlineOf, storedLargeSession } from '../support/stored-large-session.ts';
import { inBrowser, marked } from '../support/web.ts';

/** Four times the bars. */
const READY_MS = 4_000;
const SPAN_MS = 3_200;
/** Each way; `web-large.long.test.ts` has longer ones. */
const SCROLLED_SECONDS = 1.5;

inBrowser(
  'a session of ten thousand spans',
  (test) => {
    const ids = new Map<string, string>();

    test.before(async ({ service }) => {
      for (const name of ['L10', 'L1T'] as const) ids.set(name, await storedLargeSession(service, name));
    });

    for (const name of ['L10', 'L1T'] as const) {
      test(`${name} can be read soon after its address is opened, and few rows of it exist`, async ({ open }) => {
        const page = await open(`/sessions/${ids.get(name)}`);
        const ready = await marked(page, 'svc:talk-ready');
        const nodes = await nodesOf(page);
        console.log(`${name}: readable after ${ready.toFixed(0)} ms, ${nodes} nodes`);
        assert.ok(ready <= READY_MS, `${ready} ms`);
        assert.ok(nodes <= MOST_NODES, `${nodes} nodes`);
      });

      test(`a link to a span in the middle of ${name} opens there`, async ({ open, service }) => {
        const id = ids.get(name) ?? '';
        const { spans } = await outlineOf(service, id);
        const span = spans.span_id[5_000] ?? '';
        const page = await open(`/sessions/${id}?span=${span}`);
        const ready = await marked(page, 'svc:span-ready');
        console.log(`${name}: the span after ${ready.toFixed(0)} ms`);
        assert.ok(ready <= SPAN_MS, `${ready} ms`);
        const box = await page.locator(`[data-span="${span}"]`).first().boundingBox();
        const height = page.viewportSize()?.height ?? 0;
        assert.ok(box && box.y >= 0 && box.y < height, `in view: ${JSON.stringify(box)}`);
      });

      test(`and what is read there in ${name} stays where it is when the rest comes`, async ({ open, service }) => {
        const id = ids.get(name) ?? '';
        const { spans } = await outlineOf(service, id);
        const span = spans.span_id[5_000] ?? '';
        const page = await open(`/sessions/${id}?span=${span}`);
        await marked(page, 'svc:span-ready');
        const places = await page.evaluate(placesUntilWhole, span);
        const part = places.filter(({ size }) => size === -1).at(-1);
        const whole = places.at(-1);
        console.log(`${name}: ${JSON.stringify({ part, whole })}`);
        assert.ok(part && whole && whole.size > 5_000, 'it is seen before the rest comes, and then all rows are there');
        assert.ok(Math.abs(whole.top - part.top) <= 1, `from ${part.top} to ${whole.top} px`);
        assert.ok(
          places.every(({ hasFocus }) => hasFocus),
          'it keeps the focus',
        );
        await page.keyboard.press('k');
        await page.waitForFunction((left) => !document.activeElement?.closest(`[data-span="${left}"]`), span);
      });
    }

    for (const { path, ready, scroller } of LONG_LISTS)
      test(`L10${path} scrolls without a late frame or a blank row, in little memory`, async ({ open }) => {
        const page = await open(`/sessions/${ids.get('L10')}${path}`);
        await marked(page, ready);
        await marked(page, 'svc:outline-complete');
        await assertSmoothScroll(page, scroller, SCROLLED_SECONDS);
      });

    test.run();
  },
  { demo: false },
);

type Place = { top: number; size: number; hasFocus: boolean };

/** In the page: where a span's row is in each frame until the whole list has been there for half a second. */
async function placesUntilWhole(span: string): Promise<Place[]> {
  const places: Place[] = [];
  for (let wholeAt = Number.POSITIVE_INFINITY; performance.now() < wholeAt + 500; ) {
    await new Promise(requestAnimationFrame);
    const element = document.querySelector(`[data-span="${span}"]`);
    const top = Math.round(element?.getBoundingClientRect().top ?? Number.NaN);
    const size = Number(element?.closest('[aria-setsize]')?.getAttribute('aria-setsize'));
    places.push({ top, size, hasFocus: element?.contains(document.activeElement) ?? false });
    if (size > 0) wholeAt = Math.min(wholeAt, performance.now());
  }
  return places;
}
