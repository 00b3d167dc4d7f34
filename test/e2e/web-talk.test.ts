/** Talk in a real browser: every text of the demo's sessions is found once, and each thing that happened is shown as what it was. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import type { Session } from '../../core/model/session.ts';
import type { Span } from '../../core/model/span.ts';
import type { SessionDocument } from '../../core/model/trace.ts';
import { lettersOf, walkTalk } from '../support/talk-walk.ts';
import { inBrowser } from '../support/web.ts';

type Document = z.infer<typeof SessionDocument>;

inBrowser('Talk', (test) => {
  test('has each step of every session in one row, and all that was said in it', async ({ base, open }) => {
    for (const session of await sessions(base)) {
      const { traces } = await document(base, session.id);
      const page = await open(`/sessions/${session.id}`);
      await page.waitForSelector('[data-row]');
      await page.keyboard.press('b');
      const rows = [...(await walkTalk(page)).values()];
      const threads = await page
        .locator('.thread-picker option')
        .evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
      for (const thread of threads.filter((one) => one !== '')) {
        await page.goto(`${base}/sessions/${session.id}?thread=${encodeURIComponent(thread)}`);
        await page.waitForSelector('[data-row]');
        rows.push(...(await walkTalk(page)).values());
      }
      const bySpan = new Map<string, string>();
      for (const { span, text } of rows) bySpan.set(span, `${bySpan.get(span) ?? ''} ${text}`);
      const all = lettersOf(rows.map(({ text }) => text).join(' '));
      for (const span of traces.flatMap((trace) => trace.spans))
        for (const line of linesOf(span)) {
          const own = lettersOf(bySpan.get(span.span_id) ?? '');
          assert.ok(
            (own === '' ? all : own).includes(line),
            `${session.display_title}: "${line}" of ${span.kind} ${span.span_id}`,
          );
        }
      await page.close();
    }
  });

  test('shows no step twice', async ({ base, open }) => {
    for (const session of await sessions(base)) {
      const page = await open(`/sessions/${session.id}`);
      await page.waitForSelector('[data-row]');
      const seen = new Set<string>();
      for (const [key, { kind, span }] of await walkTalk(page)) {
        if (kind === 'prompt' || kind === 'context' || kind === 'fork' || span === '') continue;
        assert.not.ok(seen.has(span), `${session.display_title}: ${key} is there twice`);
        seen.add(span);
      }
      await page.close();
    }
  });

  test('has sub-agents as cards at the tools that sent them out, with the sums of their own calls', async ({
    base,
    open,
  }) => {
    const session = await sessionCalled(base, 'Booking page');
    const spans = (await document(base, session.id)).traces.flatMap((trace) => trace.spans);
    const agents = spans.filter(({ kind, thread_id }) => kind === 'agent' && thread_id !== '');
    assert.is(agents.length, 3);
    const page = await open(`/sessions/${session.id}`);
    const top = agents.filter(
      ({ parent_span_id }) => spans.find(({ span_id }) => span_id === parent_span_id)?.thread_id === '',
    );
    assert.is(top.length, 2);
    for (const agent of top) {
      const card = page.locator(`[data-row=agent][data-span="${agent.span_id}"]`);
      await card.scrollIntoViewIfNeeded();
      const own = spans.filter(({ kind, thread_id }) => kind === 'llm' && thread_id === agent.thread_id);
      const number = (name: string) => card.locator(`.agent-head [data-number=${name}]`).getAttribute('data-value');
      assert.is(Number(await number('calls')), own.length);
      const cost = own.reduce((sum, { usage }) => sum + (usage.cost_usd ?? 0), 0);
      assert.ok(Math.abs(Number(await number('cost_usd')) - cost) < 1e-9, agent.name);
      const before = await card.evaluate((row) => {
        const rows = [...window.document.querySelectorAll<HTMLElement>('[data-row]')].sort(
          (a, b) => Number(a.dataset.index) - Number(b.dataset.index),
        );
        return rows[rows.indexOf(row as HTMLElement) - 1]?.dataset.span;
      });
      assert.is(before, agent.parent_span_id);
    }
    const [agent] = top;
    const card = page.locator(`[data-row=agent][data-span="${agent?.span_id}"]`);
    await card.locator('.agent-name').click();
    await page.waitForSelector('[data-depth="1"][data-row=step]');
    await card.locator('.open-thread').click();
    await page.waitForSelector('.breadcrumb');
    assert.is(new URL(page.url()).searchParams.get('thread'), agent?.thread_id);
    assert.is(await page.locator('[data-row=agent][data-depth="1"]').count(), 0);
    await page.locator('.breadcrumb button').first().click();
    await page.waitForSelector('.breadcrumb', { state: 'detached' });
    assert.is(new URL(page.url()).searchParams.get('span'), agent?.span_id);
    await card.waitFor({ state: 'visible' });
    assert.ok(await inView(page, agent?.span_id ?? ''));
  });

  test('shows retries, blocked tools, compactions, forks, injected context and calls beside, each in words', async ({
    base,
    open,
  }) => {
    const found = new Map<string, string>();
    const seen = async (page: Page, name: string, selector: string) => {
      const first = page.locator(selector).first();
      if ((await first.count()) > 0) found.set(name, (await first.textContent()) ?? '');
    };
    for (const session of await sessions(base)) {
      const page = await open(`/sessions/${session.id}`);
      await page.waitForSelector('[data-row]');
      await seen(page, 'beside', '[data-row=beside]');
      await page.keyboard.press('f');
      for (let step = 0; step < 60; step++) {
        await page.evaluate(
          "for (const fold of document.querySelectorAll('[data-row=agent] .agent-name[aria-expanded=false]')) fold.click()",
        );
        await seen(page, 'retry', '[data-tries]');
        await seen(page, 'blocked', '[data-verdict=BLOCK]');
        await seen(page, 'compaction', '[data-row=compaction]');
        await seen(page, 'fork', '.session-note, [data-row=fork]');
        await seen(page, 'edit', '[data-part=edit]');
        await seen(page, 'image', '[data-image]');
        await seen(page, 'context', '[data-row=context], .put-in');
        await seen(page, 'error', '[data-row=tool][data-status=error] .status-mark[data-status=error]');
        const further = await page.evaluate(
          '(() => { const l = document.querySelector(".talk-list"); const b = l.scrollTop; l.scrollTop += 600; return l.scrollTop > b + 1; })()',
        );
        await page.waitForTimeout(60);
        if (!further) break;
      }
      await page.close();
    }
    const words: Record<string, RegExp> = {
      ...{ retry: /try \d: .*answered/, blocked: /blocked by permission check/, compaction: /compaction.*tokens/ },
      ...{
        fork: /goes on from|went back/,
        beside: /calls? beside/,
        context: /injected|put in with it/,
        error: /failed/,
        image: /image \d+×\d+, png/,
      },
      edit: /./,
    };
    for (const [name, pattern] of Object.entries(words)) assert.match(found.get(name) ?? '(nothing)', pattern, name);
  });

  test('shows calls beside the conversation only when they are wanted', async ({ base, open }) => {
    const session = await sessionCalled(base, 'Booking page');
    const page = await open(`/sessions/${session.id}`);
    await page.waitForSelector('[data-row]');
    const beside = () => page.locator('[data-call-kind^="offshoot:title"]');
    assert.is(await beside().count(), 0);
    await page.keyboard.press('b');
    await page.keyboard.press('End');
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
    const page = await open(`/spans/${last?.trace_id}/${last?.span_id}`);
    await page.waitForSelector(`[data-span="${last?.span_id}"]`);
    assert.is(new URL(page.url()).pathname, `/sessions/${session.id}`);
    await page.waitForFunction(() => performance.getEntriesByName('svc:span-ready').length > 0);
    assert.ok(await inView(page, last?.span_id ?? ''));
    const nested = spans.find(({ kind, thread_id }) => kind === 'llm' && thread_id !== '');
    await page.goto(`${base}/spans/${nested?.trace_id}/${nested?.span_id}`);
    await page.waitForSelector(`[data-row=step][data-span="${nested?.span_id}"]`);
    assert.is(new URL(page.url()).searchParams.get('thread'), nested?.thread_id);
    await page.goto(`${base}/sessions/${session.id}?span=00000000-0000-4000-8000-000000000000`);
    await page.getByText('is not in this session any more').waitFor();
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
      const focused = await page.evaluate('document.activeElement?.dataset.row ?? "nothing"');
      assert.ok(row === '' ? focused !== 'nothing' : focused === row, `${key} leads to ${focused}`);
    }
    await page.keyboard.press('u');
    await page.waitForSelector('main[data-page=sessions]');
    await page.goBack();
    await page.waitForSelector('main[data-page=session] [data-row]');
  });

  test('finds words in folded tools, and goes from hit to hit', async ({ base, open }) => {
    const session = await sessionCalled(base, 'departs today');
    const page = await open(`/sessions/${session.id}`);
    await page.waitForSelector('[data-row=step]');
    await page.keyboard.press('/');
    await page.keyboard.type('faketime');
    await page.waitForFunction(
      () => Number(window.document.querySelector<HTMLElement>('[data-hits]')?.dataset.hits) >= 2,
    );
    await page.keyboard.press('Enter');
    await page.locator('[data-row=tool] [aria-expanded=true]').first().waitFor();
    assert.match((await page.locator('[data-hits]').textContent()) ?? '', /^1 of \d+ steps/);
    await page.keyboard.press('Enter');
    assert.match((await page.locator('[data-hits]').textContent()) ?? '', /^2 of \d+ steps/);
    await page.keyboard.press('Escape');
    assert.is(await page.locator('.find-bar').count(), 0);
  });

  test('a session can be renamed and starred from its head, and goes to the list when it is deleted', async ({
    base,
    open,
  }) => {
    const session = await sessionCalled(base, 'notification worker');
    const page = await open(`/sessions/${session.id}`);
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

/** The lines of a span as letters, of those that are long enough to be found by. Where a link or colours are made of them they are left out. */
function linesOf({ kind, input, output }: Span): string[] {
  const texts =
    kind === 'tool'
      ? [
          ...input.flatMap(({ tool_input }) => stringsIn(tool_input)),
          ...output.flatMap(({ tool_output }) => tool_output ?? []),
        ]
      : [...input, ...output].flatMap(({ text, thinking }) => [text ?? [], thinking ?? []].flat());
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => !line.includes('](') && !line.includes('\u001b'))
    .map((line) => lettersOf(line.replace(/^\s*(\d+[.)→\t]|`{3,}\w*)\s*/, '')))
    .filter((line) => line.length >= 6);
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

async function read<T>(base: string, path: string): Promise<T> {
  const response = await fetch(`${base}${path}`);
  assert.is(response.status, 200, path);
  return (await response.json()) as T;
}

const sessions = async (base: string): Promise<Session[]> =>
  (await read<{ items: Session[] }>(base, '/v1/browse/sessions?limit=50')).items;

async function sessionCalled(base: string, words: string): Promise<Session> {
  const found = (await sessions(base)).find(({ display_title }) => display_title.includes(words));
  assert.ok(found, words);
  return found as Session;
}

const document = (base: string, id: string): Promise<Document> => read(base, `/v1/sessions/${id}/traces`);

/** Whether the row of a span is wholly within the list's view. */
async function inView(page: Page, span_id: string): Promise<boolean> {
  await page.waitForTimeout(300);
  return page.locator(`[data-span="${span_id}"]`).evaluate((row) => {
    const [own, list] = [row.getBoundingClientRect(), row.closest('.talk-list')?.getBoundingClientRect()];
    return list !== undefined && own.top >= list.top - 1 && own.bottom <= list.bottom + 1;
  });
}
