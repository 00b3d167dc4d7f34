/** The bytes of a call in a real browser: what passed, byte for byte, its headers, its events, and the call again as a command. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { eventually, read } from '../support/serve.ts';
import { inBrowser, type WebStand } from '../support/web.ts';

const run = promisify(execFile);
const KEY = 'sk-ant-planted-000000000000000000000000000000000000';
const QUESTION = 'Which bytes? é 日本 \u202e ␛ <img src=x onerror=alert(1)>';

type Turn = { raw_turn_id: number; session_id: string };
type Sent = { turn: Turn; body: string; answer: string };

/** A call through the proxy, and the raw turn that it became. */
async function sentCall(
  { service, base }: WebStand,
  question: string,
  more: object = {},
  written = (body: string) => body,
): Promise<Sent> {
  const body = written(
    JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 100,
      stream: true,
      ...more,
      messages: [{ role: 'user', content: question }],
    }),
  );
  const response = await fetch(`${service.proxy}/anthropic/v1/messages?beta=true`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': KEY },
      ...{ 'anthropic-beta': 'context-1m', 'x-odd': "it's $(id) `id`" },
    },
    body,
  });
  const answer = await response.text();
  const turn = await eventually('the turn', async () => {
    const { items } = await read<{ items: (Turn & { id: string })[] }>(`${base}/v1/browse/sessions?limit=50`);
    for (const { id } of items) {
      const turns = await read<{ items: Turn[] }>(`${base}/v1/sessions/${id}/raw_turns?limit=50`);
      for (const one of turns.items) {
        const request = await fetch(`${base}/v1/raw_turns/${one.raw_turn_id}/request`);
        if ((await request.text()) === body) return one;
      }
    }
    return undefined;
  });
  assert.ok(turn);
  return { turn, body, answer };
}

const pathOf = ({ session_id, raw_turn_id }: Turn, rest = '') =>
  `/sessions/${session_id}/calls/${raw_turn_id}/bytes${rest}`;

async function opened({ open }: WebStand, path: string): Promise<Page> {
  const page = await open(path);
  await page.waitForSelector('.side[data-state=ready]');
  return page;
}

/** The text of the Text view, whole: all rows as they come into view, without what marks their cuts. */
async function shownText(page: Page): Promise<string> {
  const rows = new Map<number, string>();
  for (let before = -1, top = 0; top !== before; ) {
    before = top;
    const shown =
      (await page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
      [...document.querySelectorAll('.text-row')].map((row) => [
        new DOMMatrix(row.style.transform).f, row.querySelector('bdi').textContent, row.querySelector('.text-line').textContent,
      ])))))`)) as [number, string, string][];
    for (const [at, text, line] of shown) rows.set(at, (line !== '' && at > 0 ? '\n' : '') + text);
    top = (await page.evaluate(
      `(() => { const list = document.querySelector('.body .fixed-rows'); list.scrollTop += list.clientHeight - 40; return list.scrollTop; })()`,
    )) as number;
  }
  return [...rows]
    .sort(([a], [b]) => a - b)
    .map(([, text]) => text)
    .join('');
}

/** The one hidden character as the page writes it out. */
const written = (text: string) => text.replaceAll('\u202e', '⟦U+202E⟧').replace(/⟦[^⟧]*202E[^⟧]*⟧/g, '⟦U+202E⟧');

/** Presses a key at the very moment that an element appears: sooner than any hand could. */
const pressWhenShown = (page: Page, selector: string, key: string): Promise<void> =>
  page.evaluate(
    ([selector, key]) => {
      const observer = new MutationObserver(() => {
        if (!document.querySelector(selector)) return;
        observer.disconnect();
        document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      });
      observer.observe(document, { childList: true, subtree: true, attributes: true });
    },
    [selector, key] as const,
  );

/** Which arrows an element keeps from the browser although Alt, Ctrl or the command key is held. */
const keptArrows = async (page: Page, selector: string): Promise<string[]> => {
  await page.waitForSelector(selector);
  return page.evaluate(
    (selector) =>
      ['altKey', 'ctrlKey', 'metaKey'].flatMap((modifier) =>
        ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'].filter((key) => {
          const pressed = new KeyboardEvent('keydown', { key, [modifier]: true, bubbles: true, cancelable: true });
          return document.querySelector(selector)?.dispatchEvent(pressed) === false;
        }),
      ),
    selector,
  );
};

inBrowser('the bytes of a call', (test) => {
  test('both sides as they passed: text, headers in order, the credential marked, and the download byte for byte', async (stand) => {
    const { turn, body, answer } = await sentCall(stand, `${QUESTION} ${'long '.repeat(2_000)}`);
    const page = await opened(stand, pathOf(turn, '?view=text'));
    const shown = await shownText(page);
    assert.is(written(shown), written(body));
    assert.not.ok(shown.includes('\u202e'), 'what would turn the text around is written out');

    const headers = await page
      .locator('[data-header]')
      .evaluateAll((rows) =>
        rows.map((row) => [row.getAttribute('data-header'), row.querySelector('td')?.textContent]),
      );
    const own = headers.filter(([name]) => name?.startsWith('x-') || name?.startsWith('anthropic-'));
    assert.equal(own.sort(), [
      ['anthropic-beta', 'context-1m'],
      ['anthropic-version', '2023-06-01'],
      ['x-api-key', '‹replaced before writing›'],
      ['x-odd', "it's $(id) `id`"],
    ]);
    const recorded = await read<{ request: { headers: [string, string][] } }>(
      `${stand.base}/v1/raw_turns/${turn.raw_turn_id}`,
    );
    assert.equal(
      headers.map(([name]) => name),
      recorded.request.headers.map(([name]) => name.toLowerCase()),
      'all, in the order of the wire',
    );
    assert.ok(!(await page.content()).includes(KEY));

    const [download] = await Promise.all([page.waitForEvent('download'), page.click('.body-tools button')]);
    assert.is(await readFile(await download.path(), 'utf8'), body);

    await page.click('#side-response');
    await page.waitForSelector('.side[data-side=response][data-state=ready] [data-view]');
    await page.click('.body-views button:has-text("Text")');
    assert.is(written((await shownText(page)).trimEnd()), written(answer.trimEnd()));
  });

  test('an answer that streamed has a row for each event, and the data of the one that is chosen', async (stand) => {
    const { turn, answer } = await sentCall(stand, 'How many events?');
    const page = await opened(stand, pathOf(turn, '?side=response&view=events'));
    const events = answer.split('\n\n').filter((event) => event.includes('data:'));
    await page.waitForSelector('[data-event="0"]');
    assert.match(await page.locator('.body-views').innerText(), `Events ${events.length}`);
    await page.focus('[role=listbox]');
    await page.keyboard.press('End');
    await page.waitForSelector(`[data-event="${events.length - 1}"][aria-selected=true]`);
    assert.match(await page.locator('[data-event-data]').innerText(), 'message_stop');
  });

  test('arrow keys on the tabs of the sides keep the focus, and u leads to the step of the call', async (stand) => {
    const { turn } = await sentCall(stand, 'Which side?');
    const page = await opened(stand, pathOf(turn));
    await page.focus('#side-request');
    await page.keyboard.press('ArrowRight');
    await page.waitForSelector('.side[data-side=response][data-state=ready]');
    assert.is(await page.evaluate('document.activeElement.id'), 'side-response');
    await page.keyboard.press('ArrowLeft');
    await page.waitForSelector('.side[data-side=request][data-state=ready]');
    assert.is(await page.evaluate('document.activeElement.id'), 'side-request');
    await page.locator('.call-number-of', { hasText: 'call 1 of 1' }).waitFor();
    await page.keyboard.press('u');
    await page.waitForSelector('main[data-page=session]');
    assert.match(page.url(), /\/sessions\/[^/]+\?span=[\da-f-]{36}$/);
  });

  test('arrows with Alt, Ctrl or the command key are the browser’s own, on tabs and in lists', async (stand) => {
    const { turn } = await sentCall(stand, 'Whose are these keys?');
    const own = `/sessions/${turn.session_id}`;
    for (const [path, ...selectors] of [
      [pathOf(turn, '?side=response&view=events'), '#side-request', '.events [role=listbox]'],
      [pathOf(turn, '?side=request&view=json'), '.json-rows [role=treeitem][tabindex="0"]'],
      [own, '#tab-talk'],
      [`${own}/calls`, '[role=list][aria-label="Calls of the session"]'],
      [`${own}/calls/${turn.raw_turn_id}`, '[role=tree][aria-label="Blocks of the prompt"]'],
    ] as const) {
      const page = await stand.open(path);
      for (const selector of selectors) assert.equal(await keptArrows(page, selector), [], selector);
      await page.close();
    }
  });

  test('JSON has the digits that passed, and a long text opens by the keyboard', async (stand) => {
    const digits = '1234567890123456789';
    const metadata = { user_id: 'u', seen: 0 };
    const { turn } = await sentCall(stand, `Long ${'x'.repeat(3_000)}`, { metadata }, (body) =>
      body.replace('"seen":0', `"seen":${digits}`),
    );
    const page = await opened(stand, pathOf(turn));
    await page.locator('.json-row', { hasText: digits }).waitFor();
    const all = page.getByRole('button', { name: /^all .* characters$/ });
    await all.focus();
    await page.keyboard.press('Enter');
    await page.locator('.json-row', { hasText: 'x'.repeat(3_000) }).waitFor();
  });

  test('the bytes are checked against the chain in the browser', async (stand) => {
    const { turn } = await sentCall(stand, 'Are these the bytes?');
    const page = await opened(stand, pathOf(turn));
    await page.click('button:has-text("Check the bytes")');
    await page.waitForSelector('[data-check=true]');
    assert.match(await page.locator('[data-check]').innerText(), /request: .* ✓ response: .* ✓/);
  });

  test('copied as curl and typed into a shell, the same request arrives again', async (stand) => {
    const { provider } = stand;
    for (const question of ["Once more, it's $(id)?", `Once more ${'and more '.repeat(2_000)}`]) {
      const { turn, body, answer } = await sentCall(stand, question);
      const page = await opened(stand, pathOf(turn, '?view=text'));
      await page.click('button:has-text("curl")');
      await page.waitForSelector('.toast');
      await page.focus('[aria-label="Find in the body"]');
      await page.keyboard.press('Control+V');
      const command = await page.inputValue('[aria-label="Find in the body"]');
      const line = command.replace('https://api.anthropic.com', provider.url);
      assert.ok(!line.includes(KEY));
      const before = provider.requests.length;
      const { stdout } = await run('bash', ['--norc', '-c', line], {
        env: { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'k', no_proxy: '*' },
      });
      assert.is(stdout, answer);
      assert.is(provider.requests.length, before + 1);
      const [last] = provider.requests.slice(-1);
      assert.equal([last?.method, last?.url, last?.body], ['POST', '/v1/messages?beta=true', body]);
      await page.close();
    }
  });

  test('keys: the other side, the call before and after, up; find leads to a word; the Calls lens leads here', async (stand) => {
    const first = await sentCall(stand, 'The first of two', { metadata: { user_id: 'u' } });
    const { open, base } = stand;
    const { items } = await read<{ items: { id: string; rollup: { turn_count: number } }[] }>(
      `${base}/v1/browse/sessions?limit=50`,
    );
    const long = items.find(({ rollup }) => rollup.turn_count > 1);
    assert.ok(long);
    const calls = await open(`/sessions/${long?.id}/calls`);
    await calls.waitForSelector('.call-row');
    await calls.focus('[role=list][aria-label="Calls of the session"]');
    await calls.keyboard.press('ArrowDown');
    await calls.waitForFunction(() => document.activeElement?.closest('[aria-posinset="2"]') !== null);
    await pressWhenShown(calls, 'main[data-page=context]', '2');
    await calls.keyboard.press('Enter');
    await calls.waitForSelector('main[data-page=bytes] .side[data-state=ready]');
    const at = () => new URL(calls.url()).pathname;
    const second = at();
    await calls.waitForSelector('button[aria-keyshortcuts="["]:not([disabled])');
    assert.match(await calls.locator('.call-place').innerText(), /call 2 of \d+/);
    await calls.keyboard.press('[');
    await calls.waitForFunction((path) => location.pathname !== path, second);
    await calls.keyboard.press(']');
    await calls.waitForFunction((path) => location.pathname === path, second);
    await calls.keyboard.press('s');
    await calls.waitForSelector('.side[data-side=response]');
    await calls.keyboard.press('u');
    await calls.waitForSelector('main[data-page=session]');

    const page = await opened(stand, pathOf(first.turn, '?view=text').replace('/bytes', '')); // an address of before
    await page.fill('input[type=search][aria-label="Find in the body"]', 'first of');
    await page.waitForSelector('.text-row.hit');
    assert.match(await page.locator('.text-find [role=status]').innerText(), '1 of 1');
  });

  test.run();
});
