/** Long sessions in a real browser: ten thousand spans, in many traces and in one, are on screen soon, and few of their rows exist. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { Outline } from '../../core/model/outline.ts';
import type { SessionPage } from '../../core/model/session.ts';
import { LARGE_SESSIONS, largeSession, spansIn } from '../support/large-session.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { inBrowser } from '../support/web.ts';

/** Four times what `npm run bench -- web` wants. */
const READY_MS = 4_000;
const SPAN_MS = 3_200;
const MOST_NODES = 2_500;

const marked = async (page: Page, name: string): Promise<number> => {
  await eventually(name, () => page.evaluate((mark) => performance.getEntriesByName(mark).length > 0, name), 30_000);
  return page.evaluate((mark) => performance.getEntriesByName(mark)[0]?.startTime ?? 0, name);
};

const nodesOf = (page: Page): Promise<number> => page.evaluate(() => document.querySelectorAll('*').length);

const outlineOf = (service: Service, id: string) => read<Outline>(`${service.api}/v1/sessions/${id}/outline`);

inBrowser(
  'a session of ten thousand spans',
  (test) => {
    const ids = new Map<string, string>();

    test.before(async ({ service }) => {
      for (const name of ['L10', 'L1T'] as const) {
        for (const message of largeSession(LARGE_SESSIONS[name], name)) {
          const body = JSON.stringify(message);
          const headers = { 'content-type': 'application/json' };
          const response = await fetch(`${service.ingest}/v1/ingest/transcript`, { method: 'POST', headers, body });
          assert.is(response.status, 202, await response.text());
        }
        const { items } = await eventually(
          'the session in the list',
          async () => {
            const page = await read<SessionPage>(`${service.api}/v1/sessions`);
            return page.items.some(({ harness_session_id }) => harness_session_id === name) && page;
          },
          60_000,
        );
        const id = items.find(({ harness_session_id }) => harness_session_id === name)?.id ?? '';
        ids.set(name, id);
        const whole = async () => (await outlineOf(service, id)).spans.span_id.length === spansIn(LARGE_SESSIONS[name]);
        await eventually('all of its spans', whole, 120_000);
      }
    });

    for (const name of ['L10', 'L1T'] as const) {
      test(`${name} can be read soon after its address is opened, and few rows of it exist`, async ({ open }) => {
        const page = await open(`/sessions/${ids.get(name)}`);
        const ready = await marked(page, 'svc:talk-ready');
        console.log(`${name}: readable after ${ready.toFixed(0)} ms, ${await nodesOf(page)} nodes`);
        assert.ok(ready <= READY_MS, `${ready} ms`);
        await page.locator('.talk-list').focus();
        for (const key of ['End', 'Home', 'End']) {
          await page.keyboard.press(key);
          await page.waitForTimeout(300);
          assert.ok((await nodesOf(page)) <= MOST_NODES, `${await nodesOf(page)} nodes`);
        }
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
    }
    test.run();
  },
  { demo: false },
);
