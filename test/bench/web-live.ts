/** B12 to B14, B18: how soon is a call on screen, what does an idle tab cost, and does the page keep still? */
import type { CDPSession, Page } from 'playwright-core';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { eventually, read } from '../support/serve.ts';
import { bounded, heading, percentiles, row } from './figures.ts';
import { blankPage, markedOn } from './web-page.ts';
import type { Ground, Stand } from './web-stand.ts';

const CALLS = 40;
const IDLE_MS = 60_000;
const RATE = 20; // calls a second
const LOADED_MS = 60_000;
const count = (value: number) => String(Math.round(value));
const shift = (value: number) => value.toFixed(4);
declare global {
  var came: Record<string, number>; // in the page: when the answer to a question was on screen
}

export async function benchLive(ground: Ground): Promise<void> {
  const provider = await startScriptedProvider();
  try {
    const stand = await ground.start('live', async () => {}, { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url });
    await benchLatency(ground, stand);
    await benchIdle(ground, stand);
    await benchLoaded(ground, stand);
  } finally {
    await provider.close();
  }
  await benchShifts(ground);
}

async function benchLatency(ground: Ground, stand: Stand): Promise<void> {
  const session = await begun(stand, 'latency');
  const { context, page } = await talkOf(ground, stand, session);
  await page.evaluate(() => {
    globalThis.came = {};
    new MutationObserver(() => {
      for (const one of document.querySelectorAll<HTMLElement>('[data-row=step][data-span]'))
        came[one.textContent?.match(/You said: (Question \d+)/)?.[1] ?? ''] ??=
          performance.timeOrigin + performance.now();
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await page.keyboard.press('G');
  const samples: number[] = [];
  for (let n = 1; n <= CALLS; n++) {
    await call(stand, 'latency', `Question ${n}`);
    const ended = performance.timeOrigin + performance.now();
    const shown = await page.waitForFunction((name) => came[name], `Question ${n}`);
    samples.push(((await shown.jsonValue()) as number) - ended);
  }
  const { p50, p95 } = percentiles(samples);
  heading(`A call's last byte until its row is on screen, ${CALLS} calls one after the other`);
  bounded('B12 p50', p50, 600);
  bounded('B12 p95', p95, 1_000);
  await context.close();
}

async function benchIdle(ground: Ground, { base }: Stand): Promise<void> {
  const { context, page, cdp } = await blankPage(await ground.browser());
  let requests = 0;
  page.on('request', (request) => {
    requests += request.url().endsWith('/v1/events') ? 1 : 0;
  });
  await page.goto(`${base}/`);
  await page.waitForSelector('[data-live=live]');
  page.on('request', () => {
    requests += 1; // none is another stream
  });
  const before = await scriptSeconds(cdp);
  await new Promise((done) => setTimeout(done, IDLE_MS));
  heading(`A tab in which nothing happens, ${IDLE_MS / 1000} s`);
  bounded('B13 requests, the stream among them', requests, 1, count);
  bounded('B13 time in scripts', 1_000 * ((await scriptSeconds(cdp)) - before), 300);
  await context.close();
}

async function benchLoaded(ground: Ground, stand: Stand): Promise<void> {
  const session = await begun(stand, 'loaded');
  for (let n = 1; n <= 30; n++) await call(stand, 'loaded', `Question ${n}`);
  const { context, page } = await talkOf(ground, stand, session);
  await page.waitForFunction(() => document.querySelectorAll('[data-row]').length > 5);
  const place = (): Promise<number> =>
    page.evaluate(() => {
      const list = document.querySelector('.talk-list');
      const [third] = [...(list?.querySelectorAll('[data-row]') ?? [])].slice(2, 3);
      return third?.getBoundingClientRect().top ?? Number.NaN;
    });
  await page.locator('.talk-list').evaluate((list) => {
    list.scrollTop = 0;
  });
  await page.evaluate(() => {
    seen.long.length = 0;
  });
  const before = await place();
  const calls: Promise<void>[] = [];
  const began = performance.now();
  for (let n = 0; performance.now() - began < LOADED_MS; n++) {
    calls.push(call(stand, 'loaded', `Question ${100 + n}`));
    await new Promise((done) => setTimeout(done, Math.max(0, began + (n + 1) * (1_000 / RATE) - performance.now())));
  }
  await Promise.all(calls);
  const long = await page.evaluate(() => seen.long);
  heading(`${calls.length} calls into the open session within ${LOADED_MS / 1000} s`);
  bounded('B14 tasks of more than 50 ms', long.length, 0, count);
  row('the longest of them', `${Math.round(Math.max(0, ...long))} ms`);
  bounded('B14 the view moves by', Math.abs((await place()) - before), 1, (value) => `${Math.round(value)} px`);
  await context.close();
}

async function benchShifts(ground: Ground): Promise<void> {
  const { base } = await ground.demo();
  const { items } = await read<{ items: { id: string }[] }>(`${base}/v1/sessions`);
  const id = items[0]?.id;
  const turns = await read<{ items: { raw_turn_id: number }[] }>(`${base}/v1/sessions/${id}/raw_turns`);
  heading('Layout shift of each page, from its address until nothing more comes');
  for (const path of [
    ...['/', `/sessions/${id}`, `/sessions/${id}/time`, `/sessions/${id}/cache`],
    ...['', '/bytes'].map((view) => `/sessions/${id}/calls/${turns.items[0]?.raw_turn_id}${view}`),
    ...['/spend', '/find', '/skills', '/cassettes', '/health', '/help'],
  ]) {
    const { context, page } = await blankPage(await ground.browser());
    await page.goto(`${base}${path}`);
    await page.waitForSelector('main[data-state]:not([data-state=loading])');
    await page.waitForTimeout(1_000);
    const shifts = await page.evaluate(() => seen.shifts.map(({ value }) => value));
    const name = path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '{id}');
    bounded(
      `B18 ${name}`,
      shifts.reduce((all, value) => all + value, 0),
      0.02,
      shift,
    );
    await context.close();
  }
}

async function talkOf(ground: Ground, { base }: Stand, session: string) {
  const measured = await blankPage(await ground.browser());
  await measured.page.goto(`${base}/sessions/${session}`);
  await markedOn(measured.page, 'svc:talk-ready');
  await liveOn(measured.page);
  return measured;
}

const liveOn = (page: Page) => page.waitForSelector('[data-live=live]', { state: 'attached' });

async function begun(stand: Stand, name: string): Promise<string> {
  await call(stand, name, 'Question 0');
  const session = await eventually('the session', async () => {
    type Listed = { id: string; harness_session_id: string; rollup: { turn_count: number } };
    const { items } = await read<{ items: Listed[] }>(`${stand.base}/v1/sessions`);
    return items.find((one) => one.harness_session_id === name && one.rollup.turn_count > 0);
  });
  return session.id;
}

/** A prompt of its own in the session of that name; resolves with the last byte of its answer. */
async function call({ proxy }: Stand, session: string, question: string): Promise<void> {
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-harness-session-id': session },
    body: JSON.stringify({
      ...{ model: 'claude-sonnet-4-5', max_tokens: 9, stream: true },
      messages: [{ role: 'user', content: question }],
    }),
  });
  if (response.status !== 200) throw new Error(`Cannot measure: ${response.status} ${await response.text()}`);
  await response.text();
}

async function scriptSeconds(cdp: CDPSession): Promise<number> {
  await cdp.send('Performance.enable');
  const { metrics } = await cdp.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN;
}
