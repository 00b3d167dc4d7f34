/** The list of sessions in a real browser: it shows what the API answers, keeps its place, and edits by keys; and its first use. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { violations } from '../support/axe.ts';
import { eventually } from '../support/eventually.ts';
import { inBrowser } from '../support/web.ts';

type Item = {
  id: string;
  display_title: string;
  display_name?: string;
  starred: boolean;
  rollup: { turn_count: number; usage: { cost_usd: number | null } };
};
type Row = { id: string; title: string; cost: string; turns: string };

const SETTLED = 'main[data-page=sessions]:is([data-state=ready], [data-state=empty])';
/** One of the demo's that has cost and tools. */
const MIDNIGHT = '16dd8bce-b2a0-59a6-9baa-d811643b8fe4';

inBrowser('the list of sessions', (test) => {
  test('shows the rows of the API, in each of its orders, with their titles, costs and prompts', async ({
    open,
    base,
  }) => {
    const page = await open('/sessions');
    assert.equal(await rowsOf(page), await answered(base, ''));
    assert.ok(
      (await rowsOf(page)).some(({ cost }) => cost === ''),
      'one whose cost is not known',
    );
    for (const sort of ['started_at', 'turn_count', 'total_cost', 'total_tokens', 'duration']) {
      await page.selectOption('select[name=sort]', sort);
      await settled(page, `?sort=${sort}`);
      assert.equal(await rowsOf(page), await answered(base, `?sort=${sort}`), sort);
    }
    await page.click('[data-direction]');
    await settled(page, '?sort=duration&direction=asc');
    assert.equal(await rowsOf(page), await answered(base, '?sort=duration&direction=asc'));
  });

  test('each filter changes address and rows; reload and Back bring them again', async ({ open, base, service }) => {
    await converse(service.proxy, { 'x-svc-project': 'a & b' }, 'a question in a project');
    await hasSession(base, 'a question in a project');
    const page = await open('/sessions');
    const all = await rowsOf(page);
    for (const [label, field] of [
      ['Project', 'project'],
      ['Agent', 'agent_name'],
      ['Model', 'model'],
      ['Provider', 'provider'],
      ['Harness', 'harness_id'],
    ] as const) {
      const facets = (
        await answer<{ items: { value: string; sessions: number }[] }>(base, `/v1/browse/facets?field=${field}`)
      ).items;
      const { value = '', sessions = 0 } = facets.at(-1) ?? {};
      await page.getByRole('button', { name: new RegExp(`^${label}`) }).click();
      await page.locator(`[data-facet="${value}"]`).click();
      const search = `?${new URLSearchParams({ [field]: value })}`;
      await settled(page, search);
      assert.equal(await rowsOf(page), await answered(base, search), search);
      assert.is((await rowsOf(page)).length, sessions);
      await page.reload();
      await settled(page, search);
      assert.equal(await rowsOf(page), await answered(base, search), 'after a reload');
      await page.goBack();
      await settled(page, '');
      assert.equal(await rowsOf(page), all, 'after Back');
    }
    await page.fill('input[name=text]', 'midnight departs');
    await settled(page, '?text=midnight+departs');
    assert.equal(
      (await rowsOf(page)).map(({ id }) => id),
      [MIDNIGHT],
    );
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await settled(page, '');
    await page.getByRole('button', { name: /^Status/ }).click();
    await page.check('input[name=failed]');
    await settled(page, '?status=failed');
    await page.check('input[name=completed]');
    await settled(page, '?status=completed%2Cfailed');
    assert.equal(await rowsOf(page), await answered(base, '?status=completed,failed'));
    await page.keyboard.press('Escape');
    assert.is(await page.locator('.picker-panel').count(), 0);
    await page.goto(`${base}/sessions?since=2001-01-01&until=2001-01-02&text=midnight`);
    await page.waitForSelector('main[data-state=empty]');
    await page.locator('[data-filter=until] button').click();
    await settled(page, '?since=2001-01-01&text=midnight');
    assert.is((await rowsOf(page)).length, 1, 'the filter that excluded it is dropped');
  });

  test('filters that change while the stream begins are those that are read', async ({ open, browser }) => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    await browser.route('**/v1/events', (route) => begun.then(() => route.continue()));
    const page = await open('/sessions?text=nowhere');
    await page.waitForSelector('main[data-state=empty]');
    await page.route('**/v1/browse/sessions?limit=50', async (route) => {
      begin();
      await page.waitForSelector('[data-live=live]');
      await route.continue();
    });
    await page.locator('[data-filter=text] button').click();
    await settled(page, '');
    assert.ok((await rowsOf(page)).length > 0);
    await browser.unroute('**/v1/events');
  });

  test('by keys: moves, opens, comes back to its place, selects, stars, renames, deletes', async ({ open, base }) => {
    const page = await open('/sessions?sort=started_at');
    await page.setViewportSize({ width: 1000, height: 420 });
    const rows = await rowsOf(page);
    const { items } = await answer<{ items: Item[] }>(base, '/v1/browse/sessions?sort=started_at');
    const last = items.at(-1)?.id ?? ''; // its row may not exist yet
    await page.keyboard.press('j');
    assert.is(await focused(page), rows[0]?.id);
    await page.keyboard.press('j');
    assert.is(await focused(page), rows[1]?.id);
    await page.keyboard.press('k');
    assert.is(await focused(page), rows[0]?.id);
    await page.keyboard.press('End');
    assert.is(await focused(page), last);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/sessions/${last}`);
    await page.goBack();
    await settled(page, '?sort=started_at');
    await until(page, `document.activeElement.closest('[data-session]')?.dataset.session === '${last}'`);
    const isSeen = `(() => { const { top, bottom } = document.querySelector('[data-session="${last}"]').getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight })()`;
    assert.is(await page.evaluate(isSeen), true, 'its row is in view');

    await page.keyboard.press('x');
    await page.waitForSelector('text=1 selected');
    await page.keyboard.press('s');
    await page.waitForSelector(`[data-session="${last}"] [data-mark=starred]`);
    assert.is((await sessionOf(base, last)).starred, true);
    await page.keyboard.press('r');
    await page.fill('input[name=display_name]', 'a name <b>of mine</b>');
    await page.keyboard.press('Enter');
    await page.locator(`[data-session="${last}"] .session-title`, { hasText: 'a name <b>of mine</b>' }).waitFor();
    assert.is((await sessionOf(base, last)).display_name, 'a name <b>of mine</b>');
    assert.is(await focused(page), last, 'the focus is where it was');

    await page.keyboard.press('Home');
    const [first, second] = rows;
    await page.keyboard.press('Delete');
    assert.match(await page.locator('dialog').innerText(), /calls? stays? in the record/);
    await page.keyboard.press('Escape');
    assert.is((await sessionOf(base, first?.id ?? '')).id, first?.id, 'Escape deletes nothing');
    await page.keyboard.press('Delete');
    await page.locator('dialog .danger').click();
    await page.waitForSelector(`[data-session="${first?.id}"]`, { state: 'detached' });
    const gone = await fetch(`${base}/v1/sessions/${first?.id}`);
    assert.is(gone.status, 404);
    await until(page, `document.activeElement.closest('[data-session]')?.dataset.session === '${second?.id}'`);
  });

  test('the way up from a session leads to the list with its filters, at the row', async ({ open, base }) => {
    const page = await open('/sessions?sort=started_at');
    const [, second] = await rowsOf(page);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    for (const up of [() => page.keyboard.press('u'), () => page.click('.session-head .back')]) {
      await page.keyboard.press('Enter');
      await page.waitForURL(`${base}/sessions/${second?.id}`);
      await page.waitForSelector('main[data-page=session] [data-row]');
      await up();
      await settled(page, '?sort=started_at');
      await until(page, `document.activeElement.closest('[data-session]')?.dataset.session === '${second?.id}'`);
    }
  });

  test('rows that could not be read are read on when somebody tries again', async ({ open }) => {
    const page = await open('/help', { tolerated: [/500/] });
    let further = 0;
    await page.route(/\/v1\/browse\/sessions\?limit=50/, async (route) => {
      if (route.request().url().includes('cursor=')) {
        further += 1;
        await route.fulfill({ status: 500, json: { code: 'internal', detail: 'Gone away' } });
      } else {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), next_cursor: 'WzE' } });
      }
    });
    await page.keyboard.type('gs');
    await page.locator('.problem', { hasText: 'Gone away' }).waitFor();
    const before = further;
    await page.getByRole('button', { name: 'Try again' }).click();
    await eventually(() => further > before);
  });

  test('a value that is none of those on offer can be typed, and one call is not several', async ({
    open,
    base,
    service,
  }) => {
    for (let n = 0; n < 9; n++)
      await converse(service.proxy, { 'x-svc-project': `project ${n}` }, `a question in project ${n}`);
    await hasSession(base, 'a question in project 8');
    const page = await open('/sessions?text=a+question+in+project+8');
    await page.keyboard.press('j');
    await page.keyboard.press('Delete');
    assert.match(await page.locator('dialog').innerText(), 'Its 1 recorded call stays in the record with its bytes');
    await page.keyboard.press('Escape');
    await page.goto(`${base}/sessions`);
    const values = page.waitForRequest(/\/v1\/browse\/facets\?/);
    await page.getByRole('button', { name: /^Project/ }).click();
    assert.is(new URL((await values).url()).searchParams.get('limit'), '200');
    await page.getByLabel('Narrow the values').fill('project 1');
    await page.locator('[data-facet]').first().waitFor();
    assert.is(await page.locator('[data-facet]').count(), 1, 'it is one of them');
    await page.getByLabel('Narrow the values').fill(' the 201st ');
    await page.locator('[data-facet="the 201st"]').click();
    await settled(page, '?project=the+201st');
  });

  test('what is new waits above the rows until it is called for; what changed changes in its row', async ({
    open,
    service,
  }) => {
    const page = await open('/sessions');
    await page.waitForSelector('[data-live=live]');
    const before = await rowsOf(page);
    await converse(service.proxy, {}, 'a new question of the list');
    await page.waitForSelector('[data-new="1"]');
    assert.equal(await rowsOf(page), before, 'nothing moves by itself');
    await page.keyboard.press('n');
    await page.locator('.session-title', { hasText: 'a new question of the list' }).waitFor();
    const [newest] = await rowsOf(page);
    assert.is(newest?.title, 'a new question of the list');
    await converse(service.proxy, {}, 'a new question of the list', 'and one more');
    await page.waitForSelector(`[data-session="${newest?.id}"] [data-number=turn_count][data-value="2"]`);
    assert.is(await page.locator('[data-new]').count(), 0);
  });

  test.run();
});

inBrowser(
  'the first use',
  (test) => {
    test('the lines to paste have the ports that run, and the first call turns the sign and brings its row', async ({
      open,
      service,
    }) => {
      const page = await open('/');
      assert.is(await page.getAttribute('main', 'data-state'), 'empty');
      const { port } = new URL(service.proxy);
      await page.waitForSelector('.setup-lines');
      const lines = await page.locator('.setup-lines code').allInnerTexts();
      assert.ok(lines.length >= 5);
      for (const line of lines) assert.match(line, `http://127.0.0.1:${port}/`);
      assert.equal(await violations(page), []);
      await page.waitForSelector('[data-waiting=yes]');
      await page.waitForSelector('[data-live=live]');
      await page.evaluate('window.sameDocument = true');
      await converse(service.proxy, {}, 'the very first question');
      await page.locator('[data-session] .session-title', { hasText: 'the very first question' }).waitFor();
      assert.is(await page.evaluate('window.sameDocument'), true, 'without a reload');
      assert.is(await page.getAttribute('main', 'data-state'), 'ready');
    });

    test('that the demo failed is shown, also when rows have taken the place of its button', async ({
      open,
      base,
      service,
    }) => {
      const [only] = (await answer<{ items: Item[] }>(base, '/v1/browse/sessions')).items;
      await fetch(`${base}/v1/sessions/${only?.id}`, { method: 'DELETE' });
      const page = await open('/sessions', { tolerated: [/500/] });
      let fail = async (): Promise<void> => assert.unreachable('the demo was not requested');
      await page.route('**/v1/admin/seed/demo', (route) => {
        fail = () => route.fulfill({ status: 500, json: { code: 'internal', detail: 'It went wrong half-way' } });
      });
      await page.waitForSelector('[data-live=live]');
      await page.click('[data-action=seed-demo]');
      await converse(service.proxy, {}, 'a first question once more');
      await page.locator('[data-session] .session-title', { hasText: 'a first question once more' }).waitFor();
      await fail();
      await page.locator('.toast', { hasText: 'The demo is not whole: It went wrong half-way' }).waitFor();
    });

    test('the demo comes with one button, without a reload', async ({ open, base }) => {
      const [only] = (await answer<{ items: Item[] }>(base, '/v1/browse/sessions')).items;
      await fetch(`${base}/v1/sessions/${only?.id}`, { method: 'DELETE' });
      const page = await open('/sessions');
      assert.is(await page.getAttribute('main', 'data-state'), 'empty');
      await page.evaluate('window.sameDocument = true');
      await page.click('[data-action=seed-demo]');
      await page.waitForSelector(`[data-session="${MIDNIGHT}"]`, { timeout: 80_000 });
      await eventually(async () => (await rowsOf(page)).every(({ turns }) => turns !== '0')); // rows come before what is derived of them
      await settled(page, '');
      await eventually(async () => JSON.stringify(await rowsOf(page)) === JSON.stringify(await answered(base, '')));
      assert.is(await page.evaluate('window.sameDocument'), true);
    });

    test.run();
  },
  { demo: false },
);

const answer = async <T>(base: string, path: string): Promise<T> => (await (await fetch(`${base}${path}`)).json()) as T;
const sessionOf = async (base: string, id: string): Promise<Item> =>
  (await answer<{ session: Item }>(base, `/v1/sessions/${id}`)).session;

/** The rows that the API's answer stands for. */
async function answered(base: string, search: string): Promise<Row[]> {
  const { items } = await answer<{ items: Item[] }>(base, `/v1/browse/sessions${search}`);
  return items.map(({ id, display_title, rollup }) => ({
    id,
    title: display_title,
    cost: rollup.usage.cost_usd === null ? '' : String(rollup.usage.cost_usd),
    turns: String(rollup.turn_count),
  }));
}

const rowsOf = (page: Page): Promise<Row[]> =>
  page.evaluate(`[...document.querySelectorAll('[data-index]')]
    .sort((one, other) => one.dataset.index - other.dataset.index)
    .map((row) => ({
      id: row.querySelector('[data-session]').dataset.session,
      title: row.querySelector('.session-title').textContent,
      cost: row.querySelector('[data-number=cost_usd]').dataset.value,
      turns: row.querySelector('[data-number=turn_count]').dataset.value,
    }))`);

/** The page's policy lets no string be evaluated in it, so its debugger evaluates it again and again. */
const until = (page: Page, condition: string): Promise<void> =>
  eventually(async () => Boolean(await page.evaluate(condition)), 30_000);

/** Waits until the address is this and its rows are there. */
async function settled(page: Page, search: string): Promise<void> {
  await until(page, `location.search === ${JSON.stringify(search)}`);
  await page.waitForSelector(SETTLED);
}

const focused = (page: Page): Promise<string> =>
  page.evaluate(`document.activeElement.closest('[data-session]')?.dataset.session ?? ''`);

const hasSession = (base: string, text: string): Promise<void> =>
  eventually(async () => {
    const { items } = await answer<{ items: Item[] }>(base, `/v1/browse/sessions?${new URLSearchParams({ text })}`);
    return items.length > 0;
  });

/** A conversation through the proxy, one prompt after the other. */
async function converse(proxy: string, headers: Record<string, string>, ...prompts: string[]): Promise<void> {
  const messages = prompts.flatMap((content, i) => [
    ...(i > 0 ? [{ role: 'assistant', content: `You said: ${prompts[i - 1]}` }] : []),
    { role: 'user', content },
  ]);
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': 'none',
      'x-svc-harness-session-id': `list-${prompts[0]}`,
      ...headers,
    },
    body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 9, messages }),
  });
  assert.is(response.status, 200, await response.text());
}
