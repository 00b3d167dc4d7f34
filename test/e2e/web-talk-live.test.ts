/** Talk of a session that grows while it is on screen: its rows come by themselves, and nobody who reads further up is moved. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { Session } from '../../core/model/session.ts';
import { percentiles } from '../bench/figures.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { inBrowser } from '../support/web.ts';
import { openConnections, setVisibility } from '../support/web-live.ts';

const SOON_MS = 4_000; // a second, and CI's four times
const CALLS = 20;
/** Of their bars, four times as well. */
const [HALF_WITHIN_MS, NEARLY_ALL_WITHIN_MS] = [4 * 600, 4 * 1_000];

inBrowser(
  'Talk, live',
  (test) => {
    test('a call through the proxy is on screen soon after its last byte, call after call', async ({
      service,
      open,
    }) => {
      const questions = ['What is the first thing?'];
      const session = await started(service, 'growing', questions[0] ?? '');
      const page = await open(`/sessions/${session.id}`);
      await page.getByText('You said: What is the first thing?').waitFor();
      const tookMs: number[] = [];
      for (let n = 1; n <= CALLS; n++) {
        questions.push(`And thing ${n}?`);
        await say(service, 'growing', questions.slice(-2));
        const ended = performance.now();
        await page.getByText(new RegExp(`You said: .*And thing ${n}\\?`)).waitFor({ timeout: NEARLY_ALL_WITHIN_MS });
        tookMs.push(performance.now() - ended);
      }
      const { p50, p95 } = percentiles(tookMs);
      console.log(`on screen after ${p50.toFixed(0)} ms (p50), ${p95.toFixed(0)} ms (p95)`);
      assert.ok(p50 <= HALF_WITHIN_MS, `p50: ${p50} ms`);
      assert.ok(p95 <= NEARLY_ALL_WITHIN_MS, `p95: ${p95} ms`);
    });

    test('hidden it holds no connection; shown again it has within a second what was said meanwhile, once', async ({
      service,
      open,
    }) => {
      const session = await started(service, 'hidden', 'Who looks?');
      const page = await open(`/sessions/${session.id}`);
      await page.getByText('You said: Who looks?').waitFor();
      await page.waitForSelector('[data-live=live]', { state: 'attached' });
      const connections = await openConnections(page);
      await setVisibility(page, 'hidden');
      await page.waitForSelector('[data-live=paused]', { state: 'attached' });
      await eventually('no connection', async () => connections.quietMs() > 500).catch(() =>
        assert.equal(connections.open(), []),
      );
      const before = [...connections.begun()]; // what was under way as it was hidden may have begun since
      const questions = ['Who looks?', 'Nobody?', 'And now?', 'Still nobody?'];
      for (let turns = 2; turns <= questions.length; turns++) await say(service, 'hidden', questions.slice(0, turns));
      await eventually(
        'all turns',
        async () => ((await sessionNamed(service, 'hidden'))?.raw_turn_count ?? 0) >= questions.length,
      );
      assert.equal(connections.begun(), before);
      assert.is(await page.locator('[data-row=step]').count(), 1);
      const shown = performance.now();
      await setVisibility(page, 'visible');
      await page.getByText(/You said: .*Still nobody\?/).waitFor({ timeout: SOON_MS });
      console.log(`caught up after ${(performance.now() - shown).toFixed(0)} ms`);
      await page.waitForTimeout(1_000);
      assert.is(await page.locator('[data-row=step]').count(), questions.length);
      const steps = await page.locator('[data-row=step]').evaluateAll((rows) => rows.map((row) => row.dataset.span));
      assert.is(new Set(steps).size, questions.length);
    });

    test('who reads further up stays there, and is told how much came', async ({ service, open }) => {
      const questions = Array.from({ length: 14 }, (_, i) => `Question ${i}, ${'with many words '.repeat(40)}`);
      const session = await started(service, 'long', questions[0] ?? '');
      for (let i = 2; i <= questions.length; i++) await say(service, 'long', questions.slice(0, i));
      await eventually(
        'all turns',
        async () => ((await sessionNamed(service, 'long'))?.rollup.turn_count ?? 0) >= questions.length, // else they come later
      );
      const page = await open(`/sessions/${session.id}`);
      await page.waitForSelector('[data-row=step]');
      await page.evaluate('document.querySelector(".talk-list").scrollTop = 400');
      await page.waitForTimeout(500);
      await page.locator('.talk-list .waiting-words').first().waitFor({ state: 'detached' }); // the texts in view are there
      const before = await topRow(page);
      await say(service, 'long', [...questions, 'One more?']);
      await page.locator('.new-steps').waitFor({ timeout: SOON_MS });
      assert.equal(await topRow(page), before);
      await page.keyboard.press('G');
      await page.getByText(/You said: .*One more\?/).waitFor();
      await page.locator('.new-steps').waitFor({ state: 'detached' });
      await say(service, 'long', [...questions, 'One more?', 'And the last?']);
      await page.getByText(/You said: .*And the last\?/).waitFor({ timeout: SOON_MS });
    });

    test('a session that is deleted elsewhere says so, and what was read stays', async ({ service, open }) => {
      const session = await started(service, 'deleted', 'Who deletes this?');
      // Whether the page hears of it, or reads what is new first, is a matter of time.
      const page = await open(`/sessions/${session.id}`, {
        tolerated: [/404 .*\/v1\/sessions\/[^/]+(\/outline\?after=.*)?\)$/],
      });
      await page.getByText('You said: Who deletes this?').waitFor();
      await fetch(`${service.api}/v1/sessions/${session.id}`, { method: 'DELETE' });
      await page.getByText('This session was deleted.').waitFor();
      assert.is(await page.getByText('You said: Who deletes this?').count(), 1);
    });

    test('one that is not heard of any more is live no longer', async ({ service, open }) => {
      const session = await started(service, 'quiet', 'Who is there?');
      const page = await open(`/sessions/${session.id}`);
      await page.clock.install();
      await page.reload();
      const live = page.locator('.session-source [data-status=live]');
      await live.waitFor();
      await page.clock.fastForward('05:30');
      await live.waitFor({ state: 'detached' });
    });

    test.run();
  },
  { demo: false },
);

/** One turn of a conversation that the client names; the provider echoes. */
async function say({ proxy }: Service, conversation: string, questions: readonly string[]): Promise<void> {
  const messages = questions.flatMap((question, i) => [
    { role: 'user', content: question },
    ...(i < questions.length - 1 ? [{ role: 'assistant', content: `You said: ${question}` }] : []),
  ]);
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-harness-session-id': conversation },
    body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 9, stream: true, messages }),
  });
  assert.is(response.status, 200);
  await response.text();
}

async function started(service: Service, conversation: string, question: string): Promise<Session> {
  await say(service, conversation, [question]);
  return eventually('the session', async () => {
    const session = await sessionNamed(service, conversation);
    return session && session.rollup.turn_count > 0 ? session : null;
  });
}

const sessionNamed = async ({ api }: Service, conversation: string): Promise<Session | undefined> =>
  (await read<{ items: Session[] }>(`${api}/v1/sessions`)).items.find(
    ({ harness_session_id }) => harness_session_id === conversation,
  );

/** The first row in view, and how far it is from the top. */
const topRow = (page: Page): Promise<{ row: string; top: number } | null> =>
  page.evaluate(() => {
    const list = document.querySelector('.talk-list')?.getBoundingClientRect();
    for (const row of document.querySelectorAll<HTMLElement>('[data-row]')) {
      const { top, bottom } = row.getBoundingClientRect();
      if (list && bottom > list.top + 1) return { row: row.textContent ?? '', top: Math.round(top) };
    }
    return null;
  });
