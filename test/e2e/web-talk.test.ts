/** Talk in a real browser: each thing that happened is shown as what it was, and keys and links lead through it. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import type { Outline } from '../../core/model/outline.ts';
import type { Session } from '../../core/model/session.ts';
import type { SessionDocument } from '../../core/model/trace.ts';
import { eventually, type Service } from '../support/serve.ts';
import { inBrowser } from '../support/web.ts';

type Document = z.infer<typeof SessionDocument>;

inBrowser('Talk', (test) => {
  test('shows whatever happened as what it was: found by its attributes, and said in words', async ({
    base,
    open,
    service,
  }) => {
    await breakOff(service);
    const found = new Map<string, string>();
    for (const session of await sessions(base)) {
      const page = await open(`/sessions/${session.id}`);
      await page.waitForSelector('[data-row]');
      await seen(page, found, ['beside']);
      await page.keyboard.press('b');
      await page.keyboard.press('f');
      // What a row shows may come after the row: at the end of the list it is looked at for a while.
      for (let step = 0, atEnd = 0; step < 60 && atEnd < 4; step++) {
        await page.evaluate(
          "for (const fold of document.querySelectorAll('.agent-name[aria-expanded=false], .tries .fold[aria-expanded=false]')) fold.click()",
        );
        await seen(page, found, Object.keys(KINDS));
        const further = await page.evaluate(
          '(() => { const l = document.querySelector(".talk-list"); const b = l.scrollTop; l.scrollTop += 600; return l.scrollTop > b + 1; })()',
        );
        await page.waitForTimeout(60);
        atEnd = further ? 0 : atEnd + 1;
      }
      await page.close();
    }
    for (const [name, [, words]] of Object.entries(KINDS)) assert.match(found.get(name) ?? '(nothing)', words, name);
  });

  test('shows calls beside the conversation only when they are wanted', async ({ base, open }) => {
    const session = await sessionCalled(base, 'Booking page');
    const page = await open(`/sessions/${session.id}`);
    await page.waitForSelector('[data-row]');
    const beside = () => page.locator('[data-call-kind^="offshoot:title"]');
    assert.is(await beside().count(), 0);
    await page.keyboard.press('b');
    await page.keyboard.press('Home');
    await beside().first().waitFor();
    assert.match((await beside().first().textContent()) ?? '', /title/);
  });

  test('a link to a span opens it in view, wherever it is; one to a span of a sub-agent opens its thread', async ({
    base,
    open,
  }) => {
    const session = await sessionCalled(base, 'Booking page');
    const spans = (await document(base, session.id)).traces.flatMap((trace) => trace.spans);
    const last = spans.filter(({ kind, thread_id }) => kind === 'tool' && thread_id === '').at(-1);
    const page = await open(`/spans/${last?.trace_id}/${last?.span_id}`, { tolerated: [/404 .*\/outline\?around=/] }); // of the last one
    await page.waitForSelector(`[data-span="${last?.span_id}"]`);
    assert.is(new URL(page.url()).pathname, `/sessions/${session.id}`);
    await page.waitForFunction(() => performance.getEntriesByName('svc:span-ready').length > 0);
    await inView(page, last?.span_id ?? '');
    const nested = spans.find(({ kind, thread_id }) => kind === 'llm' && thread_id !== '');
    await page.goto(`${base}/spans/${nested?.trace_id}/${nested?.span_id}`);
    await page.waitForSelector(`[data-row=step][data-span="${nested?.span_id}"]`);
    assert.is(new URL(page.url()).searchParams.get('thread'), nested?.thread_id);
    await page.goto(`${base}/sessions/${session.id}?span=00000000-0000-4000-8000-000000000000`);
    await page.getByText('is not in this session any more').waitFor();
  });

  test('the panel of a step stays that of the step, and leads back, when the rest of the session comes', async ({
    base,
    open,
    browser,
  }) => {
    const session = await sessionCalled(base, 'Booking page');
    const { call, tool } = linkedSteps(await read<Outline>(base, `/v1/sessions/${session.id}/outline`));
    const outline = /\/outline(\?|$)/;
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await browser.route(outline, async (route) => {
      const url = new URL(route.request().url());
      if (url.searchParams.has('around')) url.searchParams.set('limit', '11');
      else await released;
      await route.continue({ url: url.href });
    });
    const page = await open(`/sessions/${session.id}?span=${call}`);
    await page.waitForFunction(() => performance.getEntriesByName('svc:span-ready').length > 0);
    const panel = (span: string) => page.locator(`.span-panel[data-panel="${span}"]`);
    await page.keyboard.press('i');
    await panel(call).waitFor();
    await page.keyboard.press(',');
    await panel(tool).waitFor();
    release();
    await page.waitForFunction(() => performance.getEntriesByName('svc:outline-complete').length > 0);
    await page.waitForTimeout(300);
    assert.is(await page.locator('.span-panel').getAttribute('data-panel'), tool);
    assert.is(await page.locator('.span-panel').getAttribute('data-kind'), 'tool');
    await page.keyboard.press(',');
    await panel(call).waitFor();
    await browser.unroute(outline);
  });

  test('is led by keys alone: to the failing tool, its result, and back', async ({ base, open }) => {
    const session = await sessionCalled(base, 'departs today');
    const page = await open(`/sessions/${session.id}`);
    await page.waitForSelector('[data-row=step]');
    await page.keyboard.press('e');
    await page.waitForFunction(() => (window.document.activeElement as HTMLElement).dataset.status === 'error');
    await page.keyboard.press('Enter');
    await page.locator('[data-status=error] .tool-result').first().waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.tool-result').waitFor({ state: 'detached' });
    for (const [key, row] of [
      ['}', 'trace'],
      [']', 'step'],
      ['[', 'step'],
      ['k', ''],
      ['j', ''],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForTimeout(100);
      // a row gets the focus in a frame after the list has scrolled to it
      await page
        .waitForFunction((wanted) => {
          const focused = (window.document.activeElement as HTMLElement | null)?.dataset.row;
          return wanted === '' ? focused !== undefined : focused === wanted;
        }, row)
        .catch(async () => {
          const focused = await page.evaluate('document.activeElement?.dataset.row ?? "nothing"');
          assert.unreachable(`${key} leads to ${focused}`);
        });
    }
    await page.keyboard.press('u');
    await page.waitForSelector('main[data-page=sessions]');
    await page.goBack();
    await page.waitForSelector('main[data-page=session] [data-row]');
  });

  test('finds words in folded tools, and what a sub-agent did in its thread', async ({ base, open }) => {
    const session = await sessionCalled(base, 'departs today');
    const page = await open(`/sessions/${session.id}`);
    await page.waitForSelector('[data-row=step]');
    await page.keyboard.press('/');
    await page.keyboard.type('faketime');
    await page.waitForSelector('.find-bar[data-complete]');
    assert.ok(Number(await page.getAttribute('.find-bar', 'data-hits')) >= 2);
    await page.keyboard.press('Enter');
    await page.locator('[data-row=tool] [aria-expanded=true]').first().waitFor();
    assert.match((await page.locator('.find-count').textContent()) ?? '', /^1 of \d+/);
    await page.keyboard.press('Enter');
    assert.match((await page.locator('.find-count').textContent()) ?? '', /^2 of \d+/);
    await page.keyboard.press('Escape');
    assert.is(await page.locator('.find-bar').count(), 0);
    const booking = await sessionCalled(base, 'Booking page');
    const spans = (await document(base, booking.id)).traces.flatMap((trace) => trace.spans);
    const main = JSON.stringify(spans.filter(({ thread_id }) => thread_id === ''));
    const answers = spans.flatMap(({ kind, thread_id, output }) =>
      kind === 'llm' && thread_id !== '' ? (output[0]?.text?.split('\n')[0] ?? []) : [],
    );
    const answer = answers.find((text) => text !== '' && !main.includes(text)) ?? ''; // others came back as results
    await page.goto(`${base}/sessions/${booking.id}?${new URLSearchParams({ q: answer })}`);
    await page.waitForSelector('.find-bar[data-complete]');
    await page.keyboard.press('n');
    await page.waitForFunction(() => CSS.highlights.has('svc-find-at'));
    assert.is.not(new URL(page.url()).searchParams.get('thread'), null);
  });

  test('texts that could not be read are read when somebody tries again', async ({ base, open }) => {
    const session = await sessionCalled(base, 'departs today');
    const page = await open('/sessions', { tolerated: [/500/] });
    const texts = /\/v1\/traces\/[^/]+\/spans\?/;
    let requested = performance.now();
    await page.route(texts, (route) => {
      requested = performance.now();
      return route.fulfill({ status: 500, json: { code: 'internal', detail: 'Gone away' } });
    });
    await page.goto(`${base}/sessions/${session.id}`);
    await page.locator('.problem', { hasText: 'Gone away' }).waitFor();
    // rows that change their height bring others into view, whose texts are read
    await eventually('the last of its own tries', async () => performance.now() - requested > 2_000);
    assert.ok((await page.locator('.talk-list .waiting-words').count()) > 0);
    await page.unroute(texts);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.problem').waitFor({ state: 'detached' });
    await page.waitForFunction(() => performance.getEntriesByName('svc:talk-ready').length > 0);
    assert.is(await page.locator('.talk-list .waiting-words').count(), 0);
  });

  test('a call that was not answered has no cost for that reason', async ({ base, open, service }) => {
    await fetch(`${service.proxy}/anthropic/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model: 'claude-sonnet-4-5', max_tokens: 9 },
        messages: [{ role: 'user', content: 'Is it overloaded?' }],
      }),
    }).then((response) => response.text());
    const session = await eventually('its session', async () =>
      (await sessions(base)).find(({ display_title }) => display_title.includes('overloaded')),
    );
    const page = await open(`/sessions/${session?.id}`);
    const reasonIn = (place: string) => page.locator(`${place} [data-number=cost_usd] .spoken`).first().textContent();
    assert.is(await reasonIn('.session-figures'), 'no call was answered');
    assert.is(await reasonIn('.call-facts'), 'the call was not answered');
  });

  test('a session can be renamed and starred from its head, and goes to the list when it is deleted', async ({
    base,
    open,
  }) => {
    const session = await sessionCalled(base, 'notification worker');
    // Whether the page hears of the deletion, or asks for what is new first, is a matter of time.
    const page = await open(`/sessions/${session.id}`, { tolerated: [/404 .*\/outline\?after=/] });
    await page.keyboard.press('r');
    await page.locator('dialog input').fill('The worker <b>that</b> grows');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'The worker <b>that</b> grows' }).waitFor();
    await page.keyboard.press('s');
    await page.locator('.head-actions [aria-pressed=true]').waitFor();
    assert.is((await read<{ session: Session }>(base, `/v1/sessions/${session.id}`)).session.starred, true);
    await page.keyboard.press('Delete');
    await page.locator('dialog .danger').click();
    await page.waitForSelector('main[data-page=sessions]');
    await page.close();
    const gone = await open(`/sessions/${session.id}`, { tolerated: [/404/] });
    await gone.getByText('There is no session with this id').waitFor();
  });

  test.run();
});

/** By kind: where it is, and what a reader who sees no colours reads there. */
const KINDS: Record<string, readonly [selector: string, words: RegExp]> = {
  retry: ['[data-tries]', /try \d: .*answered/],
  blocked: ['[data-row=tool] [data-verdict=BLOCK]', /blocked by permission check/],
  cut: ['[data-ending=cut]', /cut off.*tokens seen/],
  failed: ['[data-row=tool][data-status=error] .status-mark[data-status=error]', /failed/],
  refused: ['[data-ending=error], [data-tries] li[data-status=error]', /[a-z]/],
  compaction: ['[data-row=compaction]', /compaction.*tokens/],
  'fork, where it begins': ['[data-note=fork]', /goes on from another session/],
  'fork, at its origin': ['[data-row=step] [data-forks="1"]', /1 other conversation goes on from here/],
  context: ['[data-row=context], [data-part=context]', /injected by the harness|put in with it/],
  beside: ['[data-row=beside]', /calls? beside/],
  'a call beside': ['[data-row=step][data-call-kind^=offshoot]', /title|check|suggestion|summary/],
  agent: ['[data-row=agent]', /calls?.*tok/],
  edit: ['[data-part=edit]', /./],
  image: ['[data-image]', /image \d+×\d+, png/],
};

/** A conversation whose only answer breaks off in the middle of its stream. */
async function breakOff({ proxy, api }: Service): Promise<void> {
  const body = { model: 'claude-sonnet-4-5', max_tokens: 9, stream: true };
  await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, messages: [{ role: 'user', content: 'Please break off' }] }),
  })
    .then((response) => response.text())
    .catch(() => undefined);
  await eventually('its session', async () =>
    (await sessions(api)).some(({ display_title }) => display_title.includes('break off')),
  );
}

async function seen(page: Page, found: Map<string, string>, kinds: readonly string[]): Promise<void> {
  for (const kind of kinds) {
    const [selector = '', words = /^/] = KINDS[kind] ?? [];
    if (words.test(found.get(kind) ?? '')) continue;
    const first = page.locator(selector).first();
    if ((await first.count()) > 0) found.set(kind, (await first.textContent()) ?? '');
  }
}

async function read<T>(base: string, path: string): Promise<T> {
  const response = await fetch(`${base}${path}`);
  assert.is(response.status, 200, path);
  return (await response.json()) as T;
}

const sessions = async (base: string): Promise<Session[]> =>
  (await read<{ items: Session[] }>(base, '/v1/browse/sessions?limit=50')).items;

/** A call whose only link leads to a tool that another call was fed with: neither is among the first steps. */
function linkedSteps({ names, spans, links }: Outline): { call: string; tool: string } {
  const words = links.kind.map((kind) => names[kind]);
  const many = (span: number | undefined, ends: readonly number[]) => ends.filter((end) => end === span).length;
  const row = words.findIndex(
    (word, n) =>
      word === 'emits' &&
      many(links.from[n], links.from) === 1 &&
      words.some((other, m) => other === 'feeds' && links.from[m] === links.to[n]) &&
      (spans.seq[links.from[n] ?? -1] ?? 0) > 6 &&
      names[spans.thread[links.from[n] ?? -1] ?? -1] === '',
  );
  assert.ok(row >= 0, 'there is such a call');
  return { call: spans.span_id[links.from[row] ?? -1] ?? '', tool: spans.span_id[links.to[row] ?? -1] ?? '' };
}

async function sessionCalled(base: string, words: string): Promise<Session> {
  const found = (await sessions(base)).find(({ display_title }) => display_title.includes(words));
  assert.ok(found, words);
  return found as Session;
}

const document = (base: string, id: string): Promise<Document> => read(base, `/v1/sessions/${id}/traces`);

/** Waits until the row of a span is wholly within the list's view, a moment after it came: texts around it come later, and move it. */
async function inView(page: Page, span_id: string): Promise<void> {
  await page.waitForTimeout(300);
  await page.waitForFunction((id) => {
    const row = window.document.querySelector(`[data-span="${id}"]`);
    const [own, list] = [row?.getBoundingClientRect(), row?.closest('.talk-list')?.getBoundingClientRect()];
    return own && list && own.top >= list.top - 1 && own.bottom <= list.bottom + 1;
  }, span_id);
}
