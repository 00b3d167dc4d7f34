/** Find in a real browser: a text is found wherever it stands, as often as it stands there, and gone to until it is in view and marked. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { FindPage } from '../../core/model/find.ts';
import type { Session } from '../../core/model/session.ts';
import type { Span } from '../../core/model/span.ts';
import { hardToFind, SOUGHT, SOUGHT_IN_PROMPTS, SYSTEM, TOOL } from '../support/find-conversations.ts';
import { type ForcedHit, foundByForce, foundInPromptsByForce } from '../support/found-by-force.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { answeredBy, textBlock, userRecord } from '../support/transcript-records.ts';
import { uploadBody } from '../support/transcript-uploads.ts';
import { inBrowser } from '../support/web.ts';

inBrowser(
  'Find',
  (test) => {
    let hard = '';
    let wired = '';

    test.before(async ({ service }) => {
      hard = await uploaded(service, 'hard-1', hardToFind('hard'));
      wired = await called(service);
    });

    test('finds each text as often as it is there, and goes to it: folded, formatted, in any script', async ({
      base,
      open,
    }) => {
      const page = await open(`/sessions/${hard}`);
      await page.waitForSelector('[data-row=step]');
      for (const [what, text] of Object.entries(SOUGHT)) {
        const forced = await foundByForce(base, hard, text);
        assert.ok(forced.length > 0, `${what}: it is there`);
        await page.keyboard.press('Control+f');
        await lookFor(page, text);
        assert.is(await page.getAttribute('.find-bar', 'data-hits'), `${forced.length}`, what);
        await page.keyboard.press('Enter');
        await shown(page, what, forced[0]?.match ?? '');
        assert.is(await words(page), `1 of ${forced.length}`, what);
      }
    });

    test('n and N lead from hit to hit and around, the address keeps the place, and Escape closes it', async ({
      base,
      open,
    }) => {
      const forced = await foundByForce(base, hard, 'harbour');
      const page = await open(`/sessions/${hard}?q=harbour`);
      await complete(page);
      await page.keyboard.press('j'); // a row has the focus, so that letters are commands
      for (const [n, hit] of forced.entries()) {
        await page.keyboard.press('n');
        await at(page, n);
        await markedIn(page, `hit ${n}`, hit.span_id);
        await shown(page, `hit ${n}`, hit.match);
        await page.waitForFunction((id) => new URL(location.href).searchParams.get('span') === id, hit.span_id);
      }
      await page.keyboard.press('n');
      await at(page, 0);
      await page.keyboard.press('N');
      await at(page, forced.length - 1);
      const last = forced.at(-1) as ForcedHit;
      await page.reload();
      await at(page, forced.length - 1);
      await shown(page, 'after a reload', last.match);
      await markedIn(page, 'after a reload', last.span_id);
      assert.ok(Number(await page.getAttribute('.find-rail', 'data-ticks')) > 1);
      await page.locator('.talk-list').focus();
      await page.keyboard.press('Escape');
      await page.locator('.find-bar').waitFor({ state: 'detached' });
      assert.is(new URL(page.url()).searchParams.get('q'), null);
      await page.waitForFunction(() => CSS.highlights.size === 0);
    });

    test('Back from what is still being read, or could not be, shows what was found before', async ({ base, open }) => {
      const page = await open('/find?q=harbour', { tolerated: [/500/] });
      const words = page.locator('[data-hits=words]');
      await words.locator('[data-span]').first().waitFor();
      const look = async (q: string) => {
        await page.fill('input[name=find]', q);
        await page.keyboard.press('Enter');
        await page.waitForURL(`${base}/find?q=${q}`);
      };
      await page.route(/\/v1\/find\?text=slow/, () => {}); // never answered
      await look('slow');
      await words.getByText('looking …').waitFor();
      await page.goBack();
      await page.waitForSelector('[data-hits=words][aria-busy=false]');
      await page.route(/\/v1\/find\?text=bad/, (route) =>
        route.fulfill({ status: 500, json: { code: 'internal', detail: 'Gone away' } }),
      );
      await look('bad');
      await words.locator('.problem').waitFor();
      await page.goBack();
      await words.locator('.problem').waitFor({ state: 'detached' });
      assert.ok((await words.locator('[data-span]').count()) > 0);
    });

    test('Ctrl-F a second time is the browser’s own', async ({ open }) => {
      const page = await open(`/sessions/${hard}`);
      await page.waitForSelector('[data-row=step]');
      await page.evaluate(() => {
        const prevented: boolean[] = [];
        Object.assign(globalThis, { prevented });
        addEventListener('keydown', (event) => {
          if (event.key === 'f') prevented.push(event.defaultPrevented);
        });
      });
      await page.keyboard.press('Control+f');
      await page.waitForFunction(() => document.activeElement?.matches('.find-bar input'));
      await page.keyboard.press('Control+f');
      assert.equal(await page.evaluate(() => (globalThis as unknown as { prevented: boolean[] }).prevented), [
        true,
        false,
      ]);
    });

    test('a place narrows it, and it stays from lens to lens', async ({ base, open }) => {
      const page = await open(`/sessions/${hard}?q=harbour`);
      await complete(page);
      await page.selectOption('.find-bar select', 'tools');
      const tools = (await foundByForce(base, hard, 'harbour')).filter(({ place }) => place === 'tools');
      await page.waitForSelector(`.find-bar[data-complete][data-hits="${tools.length}"]`);
      await page.keyboard.press('Escape');
      await page.goto(`${base}/sessions/${hard}?q=harbour&in=tools`);
      await complete(page);
      await page.locator('[role=tab]', { hasText: 'Time' }).click();
      await page.waitForSelector(`.find-bar[data-complete][data-hits="${tools.length}"]`);
      await page.keyboard.press('n');
      await shown(page, 'from Time', 'harbour');
      assert.is(new URL(page.url()).pathname, `/sessions/${hard}`);
    });

    test('a session that grows is searched again, and what the reader looks at stays where it is', async ({
      base,
      open,
      service,
    }) => {
      const exchange = (n: number, edge = (m: number) => (m < 0 ? '' : `grows-${m}`)) => [
        userRecord([edge(2 * n - 1), edge(2 * n)], 2 * n, `Where is the harbour, ${n}?`),
        answeredBy([edge(2 * n), edge(2 * n + 1)], 2 * n + 1, `msg_grows_${n}`, [textBlock('At the sea.')]),
      ];
      const records = Array.from({ length: 40 }, (_, n) => exchange(n)).flat();
      const id = await uploaded(service, 'grows-1', records);
      const before = await foundByForce(base, id, 'harbour');
      const page = await open(`/sessions/${id}?q=harbour`);
      await complete(page);
      await page.keyboard.press('j');
      await page.keyboard.press('n');
      await shown(page, 'the first', 'harbour');
      const place = await stillMark(page);
      const from = await page.getAttribute('.find-bar', 'data-hit');
      await uploaded(service, 'grows-1', [...records, ...exchange(40)]);
      await page.waitForSelector(`.find-bar[data-complete][data-hits="${before.length + 1}"]`);
      assert.is((await foundByForce(base, id, 'harbour')).length, before.length + 1);
      assert.is(await page.getAttribute('.find-bar', 'data-hit'), from);
      assert.equal(await stillMark(page), place);
      for (let n = Number(from); n < before.length; n++) await page.keyboard.press('n');
      await at(page, before.length);
      await shown(page, 'the new one', 'harbour');
      const span = new URL(page.url()).searchParams.get('span') ?? '';
      await markedIn(page, 'the address names the step', span);
    });

    test('across sessions: hits by session, filters in the address, and Enter leads to the marked text', async ({
      base,
      open,
    }) => {
      await eventually('the index', async () => {
        const { items, spans, spans_indexed } = await read<FindPage>(`${base}/v1/find?text=FileSync`);
        return spans === spans_indexed && items.length > 0;
      });
      const page = await open('/find?q=FileSync');
      await page.waitForSelector('main[data-state=ready]', { timeout: 60_000 });
      const { items } = await read<FindPage>(`${base}/v1/find?text=FileSync`);
      const spans = await page.$$eval('[data-hits=words] [data-span]', (rows) =>
        rows.map((row) => row.getAttribute('data-span')),
      );
      assert.equal(
        spans,
        items.map(({ span_id }) => span_id),
      );
      assert.is((await page.locator('[data-hits=words] mark').first().textContent())?.toLowerCase(), 'filesync');
      await page.selectOption('select[name=in]', 'tools');
      await page.waitForURL(/in=tools/);
      await page.getByText('No step has it').waitFor();
      await page.goBack();
      await page.waitForSelector('[data-hits=words] [data-span]');
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForSelector('main[data-page=session]');
      await shown(page, 'from the page', items[0]?.matches[0]?.match ?? '');
      await page.goBack();
      await page.waitForSelector('[data-hits=words] [data-span]');
    });

    test('system prompts and tools: within a session and across, each is found as often as it is there, and gone to', async ({
      base,
      open,
    }) => {
      const page = await open(`/sessions/${wired}?in=prompt`);
      for (const [what, text] of Object.entries(SOUGHT_IN_PROMPTS)) {
        const forced = await foundInPromptsByForce(base, wired, text);
        assert.ok(forced.length > 0, `${what}: it is there`);
        await page.keyboard.press('Control+f');
        await lookFor(page, text);
        assert.is(await page.getAttribute('.find-bar', 'data-hits'), `${forced.length}`, what);
        for (const [n, hit] of forced.slice(0, 2).entries()) {
          await page.keyboard.press('Enter');
          await at(page, n);
          await shownInPrompt(page, what, hit);
          assert.is(new URL(page.url()).searchParams.get('hit'), hitKey(hit), what);
        }
      }
      const [only] = await foundInPromptsByForce(base, wired, SOUGHT_IN_PROMPTS['a system prompt'] ?? '');
      const text = only?.match ?? '';
      await eventually('the index', async () => {
        const { items } = await read<FindPage>(`${base}/v1/find?text=${text}&in=prompt`);
        return items.length > 0;
      });
      await page.goto(`${base}/find?q=${text}&in=prompt`);
      await page.waitForSelector('[data-hits=words] [data-span]');
      const spans = await page.$$eval('[data-hits=words] [data-span]', (rows) =>
        rows.map((row) => `${row.getAttribute('data-place')} ${row.getAttribute('data-span')}`),
      );
      assert.equal(spans, [`prompt ${only?.span_id}`]);
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForSelector('main[data-page=session]');
      await shownInPrompt(page, 'from the page', only as ForcedHit);
    });

    test('ids of every kind lead to their place', async ({ base, open }) => {
      const { items } = await read<{ items: Turn[] }>(`${base}/v1/sessions/${wired}/raw_turns`);
      const turn = items[0] as Turn;
      const { traces } = await read<{ traces: { spans: Span[] }[] }>(`${base}/v1/sessions/${hard}/traces`);
      const tool = traces[0]?.spans.find(({ kind }) => kind === 'tool') as Span;
      const answer = traces[0]?.spans.find(({ kind }) => kind === 'llm') as Span;
      const callPath = `/sessions/${wired}/calls/${turn.raw_turn_id}`;
      for (const [what, id, path] of [
        ['a session', hard, `/sessions/${hard}`],
        ['a session of a harness', 'hard-1', `/sessions/${hard}`],
        ['a trace', tool.trace_id, `/sessions/${hard}`],
        ['a span', tool.span_id, `/sessions/${hard}`],
        ['a tool call', tool.external_id ?? '', `/sessions/${hard}`],
        ['an answer', answer.external_id ?? '', `/sessions/${hard}`],
        ['a request', turn.svc_proxy_request_id ?? '', `/sessions/${wired}`],
        ['a recorded call', `${turn.raw_turn_id}`, callPath],
      ] as const) {
        const page = await open(`/find?q=${encodeURIComponent(id)}`, { ready: false });
        await page
          .waitForURL((url) => url.pathname.startsWith(path), { timeout: 10_000 })
          .catch(() => {
            assert.unreachable(`${what} ${id} leads to ${page.url()}`);
          });
        await page.close();
      }
    });

    test.run();
  },
  { demo: false },
);

type Turn = { raw_turn_id: number; svc_proxy_request_id?: string };

async function lookFor(page: Page, text: string): Promise<void> {
  await page.waitForFunction(() => document.activeElement?.matches('.find-bar input'));
  await page.fill('.find-bar input', text);
  const isComplete = (sought: string) => {
    const bar = document.querySelector<HTMLElement>('.find-bar')?.dataset;
    return bar?.sought === sought && bar.complete !== undefined;
  };
  await page.waitForFunction(isComplete, text);
}

const complete = (page: Page) => page.waitForSelector('.find-bar[data-complete]');

/** Waits until so many hits are before the one that is shown. */
const at = (page: Page, hit: number) => page.waitForSelector(`.find-bar[data-hit="${hit}"]`);

const words = async (page: Page) => (await page.locator('.find-count').textContent())?.trim();

/** Waits until the text is marked as the one that was gone to, and is in view. */
async function shown(page: Page, what: string, text: string): Promise<void> {
  const isShown = (sought: string) => {
    const [range] = (CSS.highlights.get('svc-find-at') ?? []) as Iterable<Range>;
    const list = document.querySelector('.talk-list')?.getBoundingClientRect();
    const box = range?.getBoundingClientRect();
    if (!range || !list || !box || range.toString() !== sought) return false;
    return box.height > 0 && box.top >= list.top && box.bottom <= list.bottom && box.left < list.right;
  };
  await page.waitForFunction(isShown, text, { timeout: 10_000 }).catch(async () => {
    const marked = await page.evaluate(() => [...(CSS.highlights.get('svc-find-at') ?? [])].map(String));
    assert.unreachable(`${what}: '${text}' is not in view; marked: ${JSON.stringify(marked)}`);
  });
}

/** Waits until a text of a system prompt is marked, and is in view. */
async function shownInPrompt(page: Page, what: string, { span_id, block, match }: ForcedHit): Promise<void> {
  const isShown = ({ of, text }: { of: string; text: string }) => {
    const mark = document.querySelector(`.found-prompt[data-text="${of}"] mark`);
    const list = mark?.closest('.found-prompt-text')?.getBoundingClientRect();
    const box = mark?.getBoundingClientRect();
    if (!mark || !list || !box || mark.textContent !== text) return false;
    return box.height > 0 && box.top >= list.top && box.bottom <= list.bottom && box.bottom <= innerHeight;
  };
  await page
    .waitForFunction(isShown, { of: `${span_id} prompt ${block}`, text: match }, { timeout: 10_000 })
    .catch(async () => assert.unreachable(`${what}: '${match}' is not in view: ${await page.content()}`));
}

/** What a hit is known by in an address. */
const hitKey = ({ span_id, side, block, start, end }: ForcedHit): string =>
  [span_id.slice(0, 8), side, block, start, end].join('.');

/** Where the mark is once it has stood still: a text that is formatted meanwhile is marked anew. */
async function stillMark(page: Page): Promise<{ top: number; text: string }> {
  const look = () =>
    page.evaluate(() => {
      const [range] = (CSS.highlights.get('svc-find-at') ?? []) as Iterable<Range>;
      return { top: range?.getBoundingClientRect().top ?? -1, text: `${range ?? ''}` };
    });
  let last = await look();
  await eventually('the mark stands still', async () => {
    await page.waitForTimeout(200);
    const before = last;
    last = await look();
    return last.text !== '' && last.top === before.top && last.text === before.text;
  });
  return last;
}

/** Waits until the mark is in a text of the span: each hit has the same words. */
async function markedIn(page: Page, what: string, span_id: string): Promise<void> {
  const isIn = (id: string) => {
    const [range] = (CSS.highlights.get('svc-find-at') ?? []) as Iterable<Range>;
    return range?.startContainer.parentElement?.closest<HTMLElement>('[data-text]')?.dataset.text?.startsWith(id);
  };
  await page.waitForFunction(isIn, span_id, { timeout: 10_000 }).catch(() => {
    assert.unreachable(`${what}: the mark is not in ${span_id}`);
  });
}

async function uploaded({ ingest, api }: Service, harness_session_id: string, records: object[]): Promise<string> {
  const response = await fetch(`${ingest}/v1/ingest/transcript`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: uploadBody({ session: { harness_id: 'claude', harness_session_id }, records }),
  });
  assert.is(response.status, 202, await response.text());
  return sessionNamed(api, harness_session_id);
}

/** A session of one call with a system prompt and a tool. */
async function called({ proxy, api }: Service): Promise<string> {
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-harness-session-id': 'wired' },
    body: JSON.stringify({
      ...{ model: 'claude-sonnet-4-5', max_tokens: 9, stream: true, system: [{ type: 'text', text: SYSTEM }] },
      tools: [TOOL],
      messages: [{ role: 'user', content: 'Hello there' }],
    }),
  });
  assert.is(response.status, 200);
  await response.text();
  return sessionNamed(api, 'wired');
}

const sessionNamed = (api: string, name: string): Promise<string> =>
  eventually(`the session ${name}`, async () => {
    const { items } = await read<{ items: Session[] }>(`${api}/v1/sessions`);
    const session = items.find(({ harness_session_id }) => harness_session_id === name);
    return session && session.rollup.turn_count > 0 ? session.id : null;
  });
