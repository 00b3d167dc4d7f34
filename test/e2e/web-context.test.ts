/** A call's context and the Cache lens in a real browser: what is shown adds up to what was billed, and a planted break is named. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { SessionCache } from '../../core/model/cache-break.ts';
import type { CallContext } from '../../core/model/call-context.ts';
import { violations } from '../support/axe.ts';
import { type CacheUse, cachedCall, startCachingProvider } from '../support/cached-calls.ts';
import { eventually, read } from '../support/serve.ts';
import { inBrowser, type WebStand } from '../support/web.ts';

const BROKEN = '5e551011-0000-4000-8000-000000000001';
const HEALTHY = '5e551011-0000-4000-8000-000000000002';
const OFTEN = '5e551011-0000-4000-8000-000000000003'; // its cache breaks with each call
const PICTURED = '5e551011-0000-4000-8000-000000000004';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const LONG = 'A line of a long result, with characters < > & é 日本 to be shown.\n'.repeat(120);
const WRITE_LESS_READ_USD = (3.75 - 0.3) / 1_000_000; // of claude-sonnet-4-5, for a token

const mark = { cache_control: { type: 'ephemeral' } };
const tool = (name: string, description: string) => ({
  ...{ name, description },
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
});
const says = (text: string, more: object = {}) => ({ role: 'user', content: [{ type: 'text', text, ...more }] });
const answered = (text: string) => ({ role: 'assistant', content: [{ type: 'text', text }] });

type Call = { raw_turn_id: number; session_id: string };
type Shown = { block: number; id: string; section: string; tokens: number; basis: string };
type Change = { op: string; before: number | null; after: number | null };

/** A conversation that grows: the third call has another date in the description of its second tool, and read nothing from the cache. */
async function haveConversation(
  { service }: WebStand,
  session: string,
  uses: readonly CacheUse[],
  days: readonly string[],
) {
  const messages: object[] = [];
  for (const [n, use] of uses.entries()) {
    const own = n === 0 ? says(`<system-reminder>Long.</system-reminder>\n${LONG}`) : says(`Prompt ${n} of ${session}`);
    const last = says(`And then? ${n} ${session}`, mark);
    const request = {
      ...{ model: 'claude-sonnet-4-5', max_tokens: 100 },
      messages: [...messages, own, answered('So far.'), last],
      system: [{ type: 'text', text: `You are careful. ${LONG}`, ...mark }],
      tools: [tool('Read', 'Reads a file.'), tool('Bash', `Runs a command.\n${days[n]}\nMind the quotes.`)],
    };
    const answer = await cachedCall(service.proxy, session, request, use);
    messages.push(own, answered('So far.'), says(`And then? ${n} ${session}`), answered(answer));
  }
}

async function callsOf({ base }: WebStand, session: string, count: number): Promise<Call[]> {
  type Sessions = { items: { id: string; harness_session_id: string }[] };
  return eventually(`the calls of ${session}`, async () => {
    const { items } = await read<Sessions>(`${base}/v1/sessions?limit=50`);
    const id = items.find(({ harness_session_id }) => harness_session_id === session)?.id;
    if (!id) return null;
    const turns = await read<{ items: Call[] }>(`${base}/v1/sessions/${id}/raw_turns?limit=50`);
    const { spans, names } = await read<{ names: string[]; spans: { kind: number[] } }>(
      `${base}/v1/sessions/${id}/outline`,
    );
    const derived = spans.kind.filter((kind) => names[kind] === 'llm').length;
    return turns.items.length === count && derived === count ? turns.items : null;
  });
}

const pathOf = ({ session_id, raw_turn_id }: Call, query = '') =>
  `/sessions/${session_id}/calls/${raw_turn_id}${query}`;

async function opened({ open }: WebStand, path: string): Promise<Page> {
  const page = await open(path);
  await page.waitForFunction(() => performance.getEntriesByName('svc:context-ready').length > 0);
  return page;
}

/** All rows of the list, as they come into view. */
async function allRows(page: Page): Promise<Record<string, string>[]> {
  const rows = new Map<string, Record<string, string>>();
  await page.evaluate(`document.querySelector('.block-list .fixed-rows').scrollTop = 0`);
  for (let before = -1, top = 0; top !== before; ) {
    before = top;
    const shown =
      (await page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
      [...document.querySelectorAll('.block-row')].map((row) => ({ ...row.dataset, top: row.style.transform }))))))`)) as Record<
        string,
        string
      >[];
    assert.ok(shown.length <= 60, `${shown.length} rows are in the document`);
    for (const row of shown) rows.set(row.top ?? '', row);
    top = (await page.evaluate(
      `(() => { const list = document.querySelector('.block-list .fixed-rows'); list.scrollTop += list.clientHeight - 40; return list.scrollTop; })()`,
    )) as number;
  }
  const placeOf = ({ top }: Record<string, string>) => Number(/-?[\d.]+/.exec(top ?? '')?.[0]);
  return [...rows.values()].sort((a, b) => placeOf(a) - placeOf(b));
}

async function shownBlocks(page: Page): Promise<Shown[]> {
  return (await allRows(page)).flatMap(({ block, id = '', section = '', tokens, basis = '' }) =>
    block === undefined ? [] : [{ block: Number(block), id, section, tokens: Number(tokens), basis }],
  );
}

const numberOf = async (page: Page, name: string): Promise<number> => {
  const found = page.locator(`[data-number=${name}]`).first();
  return (await found.count()) === 0 ? 0 : Number(await found.getAttribute('data-value'));
};

/** Waits for the one card that is marked, which must be that of the call, and for it to be on the screen in full. */
async function cardInView(page: Page, raw_turn_id: number | undefined): Promise<void> {
  await page.waitForSelector(`.break-card[data-call="${raw_turn_id}"][aria-current=true]`);
  assert.is(await page.locator('.break-card[aria-current]').count(), 1);
  await page.waitForFunction(() => {
    const card = document.querySelector('.break-card[aria-current]')?.getBoundingClientRect();
    const lens = document.querySelector('.cache-lens')?.getBoundingClientRect();
    return card && lens && card.top >= lens.top && card.bottom <= lens.bottom;
  });
}

/** The value at a path such as `messages[0].content[1]`. */
const valueAt = (value: unknown, path: string): unknown =>
  (path.match(/[^.[\]]+/g) ?? []).reduce<unknown>((found, key) => (found as Record<string, unknown>)[key], value);

inBrowser(
  'the context of a call and the cache of a session',
  (test) => {
    let broken: Call[] = [];
    let healthy: Call[] = [];
    let often: Call[] = [];
    let pictured: Call[] = [];

    test.before(async (stand) => {
      const uses = [
        { read: 0, written: 6_000, fresh: 4 },
        { read: 6_000, written: 60, fresh: 4 },
        { read: 0, written: 6_200, fresh: 4 },
      ];
      await haveConversation(stand, BROKEN, uses, [
        'Today is Fri Nov 20',
        'Today is Fri Nov 20',
        'Today is Sat Nov 21',
      ]);
      await haveConversation(stand, HEALTHY, uses.slice(0, 2), ['Today is Fri Nov 20', 'Today is Fri Nov 20']);
      const days = Array.from({ length: 9 }, (_, n) => `Today is Nov ${n}`);
      const written = days.map((_, n) => ({ read: 0, written: 6_000 + 100 * n, fresh: 4 }));
      await haveConversation(stand, OFTEN, written, days);
      const image = (data: string) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } });
      const elsewhere = { type: 'image', source: { type: 'url', url: 'https://pictures.example/a.png' } };
      const parts = [{ type: 'text', text: 'What is this?' }, image(PNG), image('PHN2Zz48L3N2Zz4='), elsewhere];
      const request = { model: 'claude-sonnet-4-5', max_tokens: 100, messages: [{ role: 'user', content: parts }] };
      await cachedCall(stand.service.proxy, PICTURED, request, { read: 0, written: 0, fresh: 40 });
      broken = await callsOf(stand, BROKEN, 3);
      healthy = await callsOf(stand, HEALTHY, 2);
      often = await callsOf(stand, OFTEN, days.length);
      pictured = await callsOf(stand, PICTURED, 1);
    });

    test('the tokens of all blocks are those billed, in cache order; a block’s text is that part of the request', async (stand) => {
      for (const call of broken) {
        const page = await opened(stand, pathOf(call, '?order=cache'));
        const blocks = await shownBlocks(page);
        const sum = blocks.reduce((total, { tokens }) => total + tokens, 0);
        const billed = await numberOf(page, 'input_tokens');
        assert.is(billed, [6_004, 6_064, 6_204][broken.indexOf(call)]);
        assert.is(sum + (await numberOf(page, 'unattributed_tokens')), billed);
        assert.equal(
          blocks.map(({ block }) => block),
          blocks.map((_, n) => n),
          'each once, in order',
        );
        const sections = blocks.map(({ section }) => ['tools', 'system', 'messages'].indexOf(section));
        assert.equal(
          sections,
          sections.toSorted((a, b) => a - b),
        );
        await page.close();
      }
      const [first] = broken;
      assert.ok(first);
      const request = await (await fetch(`${stand.base}/v1/raw_turns/${first.raw_turn_id}/request?as=decoded`)).json();
      const { blocks } = await read<CallContext>(`${stand.base}/v1/raw_turns/${first.raw_turn_id}/context`);
      const page = await opened(stand, pathOf(first, '?order=cache&block=0'));
      for (const { n, path } of blocks) {
        await page.locator(`[data-block="${n}"]`).click();
        await page.waitForSelector(`.block-panel[data-panel="${n}"] :is(.block-text, .runs, .json-rows)`);
        const value = valueAt(request, path) as string | { text?: string; description?: string };
        const text = typeof value === 'string' ? value : value.text;
        if (text === undefined) {
          const panel = await page.locator('.block-panel').innerText();
          assert.match(panel, String((value as { description: string }).description).slice(0, 12));
          continue;
        }
        await page.click('button:has-text("Whole text")');
        assert.is(await page.locator('.block-text[data-text=whole]').textContent(), text, path);
      }
    });

    test('the changes that are shown make the blocks of one call into those of the next', async (stand) => {
      for (const [n, call] of broken.entries()) {
        const other = broken[n - 1];
        if (!other) continue;
        const page = await opened(stand, pathOf(call, `?order=cache&against=${other.raw_turn_id}`));
        const rows = await allRows(page);
        const changes = rows.flatMap(({ change: op, before, block }): Change[] =>
          op === undefined ? [] : [{ op, before: before ? Number(before) : null, after: block ? Number(block) : null }],
        );
        assert.ok(changes.length > 0);
        const now = rows.flatMap(({ block, id = '' }) => (block === undefined ? [] : [id]));
        const was = (await read<CallContext>(`${stand.base}/v1/raw_turns/${other.raw_turn_id}/context`)).blocks.map(
          ({ id }) => id,
        );
        assert.equal(applied(was, now, changes), now);
        const moved = changes.filter(({ op }) => op === 'move');
        for (const { before, after } of moved) assert.is(was[before ?? -1], now[after ?? -1]);
        await page.close();
      }
    });

    test('what changed is shown first, with the words that differ; only what changed; against nothing', async (stand) => {
      const page = await opened(stand, pathOf(broken[2] as Call));
      await page.waitForSelector('[data-diff="tools[1].description"] [data-op=added] mark');
      assert.is(await page.locator('[data-op=removed] .diff-text').innerText(), 'Today is Fri Nov 20');
      assert.is(await page.locator('[data-op=added] .diff-text').innerText(), 'Today is Sat Nov 21');
      await page.keyboard.press('d');
      await page.waitForSelector('[data-change=change]');
      assert.ok((await allRows(page)).every(({ group, change }) => group !== undefined || change !== undefined));
      await page.keyboard.press('o');
      await page.waitForFunction(() => location.search.includes('order=cache'));
      await page.selectOption('.context-against select', 'none');
      await page.waitForSelector('[data-against=""]');
      assert.is(await page.locator('[data-change]').count(), 0);
      await page.keyboard.press('[');
      await page.waitForFunction((path) => location.pathname === path, pathOf(broken[1] as Call));
      await page.keyboard.press('u');
      await page.waitForSelector('.talk-list [data-row=step]');
      await page.keyboard.press(']');
      await page.keyboard.press('i');
      await page.waitForSelector('.span-panel');
      await page.keyboard.press('w');
      await page.waitForSelector('main[data-page=context][data-state=ready]');
    });

    test('the Cache lens names the planted break: cause, place, what was and is, and what it cost', async (stand) => {
      const [, , call] = broken as [Call, Call, Call];
      const page = await stand.open(`/sessions/${call.session_id}/cache`);
      const card = page.locator('[data-break=tools]');
      await card.waitFor();
      assert.is(await page.locator('[data-break][data-planned=false]').count(), 1);
      assert.is(await card.getAttribute('data-call'), `${call.raw_turn_id}`);
      assert.is(await card.getAttribute('data-ground'), 'bytes');
      const place = card.locator('.break-place');
      assert.is(await place.getAttribute('data-path'), 'tools[1].description');
      assert.is(await place.getAttribute('data-char'), `${'Runs a command.\nToday is '.length}`);
      assert.match(await place.locator('[data-side=was] mark').innerText(), 'Fri');
      assert.match(await place.locator('[data-side=is] mark').innerText(), 'Sat');
      const value = async (name: string) =>
        Number(await card.locator(`[data-number=${name}]`).getAttribute('data-value'));
      const rewritten = await value('rewritten_tokens');
      assert.is(rewritten, (await value('expected_tokens')) - (await value('read_tokens')));
      assert.ok(Math.abs((await value('lost_usd')) - rewritten * WRITE_LESS_READ_USD) < 1e-9);
      const { lost_usd } = await read<SessionCache>(`${stand.base}/v1/sessions/${call.session_id}/cache`);
      assert.is(await numberOf(page, 'session_lost_usd'), lost_usd);
      await page.keyboard.press('d');
      await page.keyboard.press('Enter');
      await page.waitForSelector(`.context[data-call="${call.raw_turn_id}"]`);
    });

    test('head and strip say that the cache broke and what it cost, and lead to the lens', async (stand) => {
      const [, , call] = broken as [Call, Call, Call];
      const { lost_usd } = await read<SessionCache>(`${stand.base}/v1/sessions/${call.session_id}/cache`);
      const page = await stand.open(`/sessions/${call.session_id}`);
      await page.locator('a.head-breaks').waitFor();
      assert.is(await numberOf(page, 'breaks'), 1);
      assert.is(await numberOf(page, 'breaks_lost_usd'), lost_usd);
      await page.locator('.strip-marks summary').click();
      assert.equal(await violations(page), []);
      assert.match(await page.locator('[data-mark=break]').innerText(), /call 3: cache break, tools changed, \$/);
      await page.locator('[role=slider]').focus();
      await page.keyboard.press('End');
      assert.match((await page.getAttribute('[role=slider]', 'aria-valuetext')) ?? '', 'cache break, tools changed');
      for (const link of ['a.head-breaks', '.strip-marks > a.mark-break']) {
        await page.locator(link).click();
        await page.waitForSelector('.cache-lens [data-break=tools][aria-current=true]');
        await page.goBack();
        await page.waitForSelector('.talk-list');
      }
    });

    test('a link to one of many breaks opens the lens with its card in view and marked, and the next follows it', async (stand) => {
      const [first, third, last] = [often[1], often[3], often.at(-1)].map((call) => call?.raw_turn_id);
      const page = await stand.open(`/sessions/${often[0]?.session_id}`);
      await page.locator('a.head-breaks').click();
      await cardInView(page, first);
      await page.locator('.strip-marks summary').click();
      await page.locator('.strip-marks li a.mark-break').last().click();
      await cardInView(page, last);
      assert.equal(await violations(page), []);
      await page.locator('.strip-marks li a.mark-break').nth(2).click();
      await cardInView(page, third);
      await page.locator('.strip-marks > a.mark-break').click(); // the one after it
      await cardInView(page, often[4]?.raw_turn_id);
      await page.keyboard.press('Escape');
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await page.keyboard.press('d');
      await page.waitForSelector(`.break-card[data-call="${often[5]?.raw_turn_id}"]:focus-within`);
      await page.reload();
      await cardInView(page, often[4]?.raw_turn_id);
    });

    test('of each cause Spend leads to the latest break, in the lens of its session', async (stand) => {
      type Breaks = { sessions_waiting: number; groups: { breaks: number }[] };
      await eventually('the breaks of all sessions', async () => {
        const { groups, sessions_waiting } = await read<Breaks>(`${stand.base}/v1/cache/breaks`);
        return sessions_waiting === 0 && groups[0]?.breaks === often.length;
      });
      const page = await stand.open('/spend');
      await page.locator('[data-cause=tools] a').click();
      await cardInView(page, often.at(-1)?.raw_turn_id);
      assert.match(page.url(), `/sessions/${often[0]?.session_id}/cache?span=`);
    });

    test('of a session whose cache cannot have broken nothing is read for that', async (stand) => {
      const page = await stand.open('/');
      const read: string[] = [];
      page.on('request', (request) => read.push(new URL(request.url()).pathname));
      await page.goto(`${stand.base}/sessions/${healthy[0]?.session_id}`);
      await page.waitForFunction(() => performance.getEntriesByName('svc:outline-complete').length > 0);
      await page.waitForSelector('.strip');
      assert.is(await page.locator('.head-breaks').count(), 0);
      assert.equal(
        read.filter((path) => path.endsWith('/cache')),
        [],
      );
    });

    test('the image of a block is drawn, with its size and type; of what is no image, and of one elsewhere, there is the JSON', async (stand) => {
      const page = await opened(stand, pathOf(pictured[0] as Call, '?order=cache&block=1'));
      const figure = page.locator('.block-panel [data-image="1×1"]');
      await figure.waitFor();
      assert.match(await figure.innerText(), /^image 1×1, png, 70 B$/);
      const pixel = await figure
        .locator('canvas')
        .evaluate((canvas) => [
          ...((canvas as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, 1, 1).data ?? []),
        ]);
      assert.ok((pixel[3] ?? 0) > 0, `${pixel}`);
      assert.equal(await violations(page), []);
      await page.locator('.block-looks button', { hasText: 'As JSON' }).click();
      await page.waitForSelector('.block-panel:not(:has([data-image]))');
      assert.match(await page.locator('.block-panel').innerText(), 'image/png');
      await page.goto(`${stand.base}${pathOf(pictured[0] as Call, '?order=cache&block=2')}`);
      await page.waitForSelector('.block-panel [data-image=refused]');
      await page.goto(`${stand.base}${pathOf(pictured[0] as Call, '?order=cache&block=3')}`);
      await page.locator('.block-panel', { hasText: 'pictures.example' }).waitFor();
      assert.is(await page.locator('.block-panel [data-image]').count(), 0);
    });

    test('a session without a break says so', async (stand) => {
      const page = await stand.open(`/sessions/${healthy[0]?.session_id}/cache`);
      await page.waitForSelector('[data-verdict=judged]');
      assert.match(await page.locator('.cache-lens h2').first().innerText(), 'No break');
      assert.is(await page.locator('[data-break][data-planned=false]').count(), 0);
    });

    test('a session that is too long to be read whole: the lens says of which calls all of it is', async (stand) => {
      const page = await stand.open('/');
      const path = `/sessions/${broken[0]?.session_id}/cache`;
      const note = page.locator('.cache-lens [role=note]');
      await page.goto(stand.base + path);
      await page.waitForSelector('[data-verdict=judged]');
      assert.is(await note.count(), 0);
      await page.route(`**/v1${path}`, async (route) => {
        const response = await route.fetch(); // the bound is 10,000 calls: what is answered of a longer session has these two
        const cache = (await response.json()) as SessionCache;
        await route.fulfill({ response, json: { ...cache, calls: 10_000, truncated: true } });
      });
      await page.goto(stand.base + path);
      await note.waitFor();
      assert.is(await note.innerText(), 'Too long to be read whole: all of this is of the first 10,000 calls.');
      assert.equal(await violations(page), []);
    });

    test.run();
  },
  {
    demo: false,
    beside: async () => {
      const provider = await startCachingProvider();
      return { env: { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url }, close: provider.close };
    },
  },
);

/** What becomes of the blocks of one call: what has no change keeps its order, and fills the places that no change fills. */
function applied(was: readonly string[], now: readonly string[], changes: readonly Change[]): string[] {
  const left = new Set(changes.flatMap(({ before }) => (before === null ? [] : [before])));
  const placed = new Map(
    changes.flatMap(({ after, before, op }) =>
      after === null ? [] : [[after, op === 'move' ? was[before ?? -1] : now[after]]],
    ),
  );
  const same = was.filter((_, n) => !left.has(n));
  return Array.from({ length: same.length + placed.size }, (_, n) => placed.get(n) ?? same.shift() ?? '');
}
