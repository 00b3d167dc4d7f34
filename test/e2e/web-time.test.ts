/** The Time lens in a real browser: each bar is where its step was, lanes are threads, and everything works by keyboard. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { Outline } from '../../core/model/outline.ts';
import { read } from '../support/serve.ts';
import { inBrowser, type WebStand } from '../support/web.ts';

type Bar = { left: number; width: number; wait: number | null; track: number };
type Row = { span: string; row: string; kind: string; thread: string; level: number; status: string; bar: Bar | null };

const BARS = 50;
const MINUTE_US = 60_000_000;

/** All rows, from the first to the last, as they come into view. */
async function allRows(page: Page): Promise<Row[]> {
  const rows = new Map<string, Row>();
  await page.evaluate(`document.querySelector('.fixed-rows').scrollTop = 0`);
  for (let before = -1, top = 0; top !== before; ) {
    before = top;
    const shown =
      (await page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
      [...document.querySelectorAll('[data-row]')].map((row) => {
        const box = (selector) => row.querySelector(selector)?.getBoundingClientRect();
        const [track, bar, wait] = [box('.time-track'), box('[data-bar]'), box('[data-wait]')];
        return {
          ...{ span: row.dataset.span ?? '', row: row.dataset.row, kind: row.dataset.kind, thread: row.dataset.thread },
          ...{ level: Number(row.ariaLevel), status: row.dataset.status },
          top: new DOMMatrix(row.style.transform).f,
          bar: bar && { left: bar.left - track.left, width: bar.width, wait: wait?.width ?? null, track: track.width },
        };
      })))))`)) as (Row & { top: number })[];
    for (const row of shown) rows.set(`${row.top}`, row);
    top = (await page.evaluate(
      `(() => { const list = document.querySelector('.fixed-rows'); list.scrollTop += list.clientHeight - 40; return list.scrollTop; })()`,
    )) as number;
  }
  return [...rows].sort(([a], [b]) => Number(a) - Number(b)).map(([, row]) => row);
}

/** Opens every run, so that each of its steps has a row. */
async function unfoldRuns(page: Page): Promise<void> {
  for (;;) {
    const closed = page.locator('[data-row=run][aria-expanded=false]').first();
    if ((await closed.count()) === 0) return;
    await closed.click();
  }
}

/** The place of a moment, worked out from the API's answer alone: linear, with 26 px for each minute and more without a step. */
function expectedScale({ traces, spans, names }: Outline, width: number): (us: number) => number {
  const timed = spans.span_id.flatMap((_, i) =>
    ['llm', 'tool'].includes(names[spans.kind[i] ?? -1] ?? '')
      ? [[spans.started_us[i] ?? 0, (spans.started_us[i] ?? 0) + (spans.duration_us[i] ?? 0)] as const]
      : [],
  );
  const whole = [...timed, ...traces.started_us.map((at, i) => [at, at + (traces.duration_us[i] ?? 0)] as const)];
  const [from, to] = [Math.min(...whole.map(([start]) => start)), Math.max(...whole.map(([, end]) => end))];
  const edges = [...new Set(timed.flat())].sort((a, b) => a - b);
  const gaps = edges.flatMap((edge, i) => {
    const next = edges[i + 1] ?? edge;
    const isIdle = !timed.some(([start, end]) => start < next && end > edge);
    return isIdle && next - edge > MINUTE_US ? [[edge, next] as const] : [];
  });
  const gapPx = gaps.length === 0 ? 0 : Math.min(26, (0.3 * width) / gaps.length);
  const idle = gaps.reduce((sum, [start, end]) => sum + end - start, 0);
  const perUs = (width - gaps.length * gapPx) / (to - from - idle);
  return (us) => {
    const before = gaps.filter(([, end]) => end <= us);
    const skipped = before.reduce((sum, [start, end]) => sum + end - start, 0);
    return (us - from - skipped) * perUs + before.length * gapPx;
  };
}

const sessionsOf = async ({ base }: Pick<WebStand, 'base'>): Promise<string[]> => {
  const { items } = await read<{ items: { id: string }[] }>(`${base}/v1/browse/sessions?limit=50`);
  return items.map(({ id }) => id);
};

const outlineOf = (base: string, id: string) => read<Outline>(`${base}/v1/sessions/${id}/outline`);
const query = (page: Page) => new URL(page.url()).searchParams;

async function openTime(open: WebStand['open'], id: string, rest = ''): Promise<Page> {
  const page = await open(`/sessions/${id}/time${rest}`);
  await page.waitForSelector('[data-row]');
  return page;
}

/** A session of the demo with a failing tool that a call asked for, and that tool. */
async function failingTool(base: string): Promise<{ id: string; span: string; by: string; fed: string }> {
  for (const id of await sessionsOf({ base })) {
    const { spans, links, names } = await outlineOf(base, id);
    const own = (i: number | undefined) => spans.span_id[i ?? -1];
    for (const [i, span] of spans.span_id.entries()) {
      if (names[spans.kind[i] ?? -1] !== 'tool' || names[spans.status[i] ?? -1] !== 'error') continue;
      const row = (kind: string, side: 'from' | 'to') =>
        links.kind.findIndex((name, n) => names[name] === kind && links[side][n] === i);
      const by = own(links.from[row('emits', 'to')]);
      const fed = own(links.to[row('feeds', 'from')]);
      if (by && fed) return { id, span, by, fed };
    }
  }
  throw new Error('The demo has no failing tool');
}

inBrowser('the Time lens', (test) => {
  test('bars of 50 random steps: left and width are start and duration within a pixel, hatched up to the first byte', async (stand) => {
    const { open, base } = stand;
    const found: { what: string; off: number[] }[] = [];
    for (const id of await sessionsOf(stand)) {
      const outline = await outlineOf(base, id);
      const { spans, names } = outline;
      const page = await openTime(open, id);
      await unfoldRuns(page);
      const rows = await allRows(page);
      const track = rows.find(({ bar }) => bar)?.bar?.track ?? 0;
      const x = expectedScale(outline, track);
      for (const [i, span] of spans.span_id.entries()) {
        const kind = names[spans.kind[i] ?? -1];
        if (kind !== 'llm' && kind !== 'tool') continue;
        const trace = outline.traces.trace_id[spans.trace[i] ?? -1];
        const row = rows.find((one) => one.span === span && one.row === 'step');
        assert.ok(row?.bar, `${kind} ${span} of ${trace} has a row with a bar`);
        const [start, duration] = [spans.started_us[i] ?? 0, spans.duration_us[i] ?? 0];
        const off = [row.bar.left - x(start), row.bar.width - Math.max(1, x(start + duration) - x(start))];
        const firstByte = spans.first_byte_us[i] ?? null;
        if (firstByte !== null && firstByte > start) off.push((row.bar.wait ?? 0) - (x(firstByte) - x(start)));
        found.push({ what: `${kind} ${span} of session ${id}`, off });
      }
      await page.close();
    }
    assert.ok(found.length >= BARS, `${found.length} steps in the demo`);
    const some = found.sort(() => Math.random() - 0.5).slice(0, BARS);
    for (const { what, off } of some) for (const pixels of off) assert.ok(Math.abs(pixels) <= 1, `${what}: ${off}`);
  });

  test('lanes are threads: a step of a sub-agent is below its lane, and every thread has one', async (stand) => {
    const { open, base } = stand;
    let lanes = 0;
    for (const id of await sessionsOf(stand)) {
      const { spans, names } = await outlineOf(base, id);
      const agents = spans.span_id.filter(
        (_, i) => names[spans.kind[i] ?? -1] === 'agent' && names[spans.thread[i] ?? -1] !== '',
      );
      if (agents.length === 0) continue;
      const page = await openTime(open, id);
      const rows = await allRows(page);
      const shown = rows.filter(({ row }) => row === 'lane');
      assert.equal(shown.map(({ span }) => span).sort(), agents.sort());
      for (const [n, { row, thread, kind, level }] of rows.entries()) {
        if (row !== 'step' || kind !== 'llm' || thread === '') continue;
        const lane = rows.slice(0, n).findLast((above) => above.level < level && above.row === 'lane');
        assert.is(lane?.thread, thread);
      }
      lanes += shown.length;
      await page.close();
    }
    assert.ok(lanes > 0, 'the demo has sub-agents');
  });

  test('by keyboard alone: rows, folds, the panel of a step, its links there and back, zoom and the whole', async ({
    open,
    base,
  }) => {
    const { id, span, by, fed } = await failingTool(base);
    const page = await openTime(open, id, `?span=${span}`);
    const panel = (of: string) => page.waitForSelector(`[data-panel="${of}"]`);
    await panel(span);
    await page.waitForSelector(`[data-panel="${span}"] [data-blocks=result]`);
    assert.is(await page.locator('[data-row][aria-selected=true]').getAttribute('data-span'), span);
    const links = await page
      .locator('[data-link]')
      .evaluateAll((all) =>
        all.map((one) => [one.getAttribute('data-link'), one.querySelector('[data-to]')?.getAttribute('data-to')]),
      );
    for (const [words, to] of [
      ['asked by', by],
      ['fed', fed],
    ])
      assert.ok(
        links.some(([own, leads]) => own === words && leads === to),
        `${words} ${to}: ${links}`,
      );
    await page.keyboard.press(',');
    await panel(fed);
    await page.keyboard.press(',');
    await panel(span);
    await page.keyboard.press('Escape');
    await page.waitForSelector('[data-panel]', { state: 'detached' });
    assert.is(query(page).get('span'), null);

    await page.focus('[role=tree]');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowLeft');
    await page.waitForSelector('[data-row=trace][aria-posinset="1"][aria-expanded=false]');
    await page.keyboard.press('ArrowRight');
    await page.waitForSelector('[data-row=trace][aria-posinset="1"][aria-expanded=true]');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[data-panel]');
    assert.ok(query(page).get('span'));
    await page.keyboard.press('z');
    await page.waitForFunction(() => /^\d+-\d+$/.test(new URL(location.href).searchParams.get('t') ?? ''));
    const bar = await page.locator('[aria-selected=true] [data-bar]').boundingBox();
    const track = await page.locator('[aria-selected=true] .time-track').boundingBox();
    assert.ok((bar?.width ?? 0) > 0.8 * (track?.width ?? 1), 'the step fills the view');
    await page.keyboard.press('0');
    await page.waitForFunction(() => !location.search.includes('t='));
  });

  test('the strip: a slider with a value in words, whose marks lead to what failed', async ({ open, base }) => {
    const { id } = await failingTool(base);
    const page = await openTime(open, id);
    await page.focus('[role=slider]');
    await page.keyboard.press('End');
    const { spans, names } = await outlineOf(base, id);
    const calls = spans.span_id
      .map((span, i) => ({ span, i, at: spans.started_us[i] ?? 0 }))
      .filter(({ i }) => names[spans.kind[i] ?? -1] === 'llm')
      .sort((a, b) => a.at - b.at);
    await page.waitForSelector(`[data-panel="${calls.at(-1)?.span}"]`);
    const slider = page.locator('[role=slider]');
    assert.is(await slider.getAttribute('aria-valuenow'), `${calls.length}`);
    assert.match(
      (await slider.getAttribute('aria-valuetext')) ?? '',
      new RegExp(`^call ${calls.length} of ${calls.length}, .* tokens in, `),
    );
    await page.keyboard.press('ArrowLeft');
    await page.waitForSelector(`[data-panel="${calls.at(-2)?.span}"]`);
    await page.click('.mark-error');
    const failed = spans.span_id.filter((_, i) => names[spans.status[i] ?? -1] === 'error');
    await page.waitForFunction(
      (ids) => ids.includes(document.querySelector<HTMLElement>('[data-panel]')?.dataset.panel ?? ''),
      failed,
    );
    const painted = await page.evaluate(`(() => {
      const canvas = document.querySelector('.strip canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.some((value) => value > 0);
    })()`);
    assert.is(painted, true);
  });

  test('what holds the step that is selected can be folded, and stays so', async ({ open, base }) => {
    const { id, span } = await failingTool(base);
    const page = await openTime(open, id, `?span=${span}`);
    await page.waitForFunction(() => performance.getEntriesByName('svc:span-ready').length > 0);
    await page.focus('[role=tree]');
    for (;;) {
      const row = await page.getAttribute('[role=tree]', 'aria-activedescendant');
      await page.keyboard.press('ArrowLeft'); // up to what holds it, until that is folded
      const kind = await page.locator(`[id="${row}"]`).getAttribute('data-row');
      if (kind === 'trace') break;
    }
    await page.waitForTimeout(300);
    assert.is(await page.locator(`[data-row][data-span="${span}"]:not([data-row=trace])`).count(), 0);
  });

  test('keys go on from the last row where the row that they were on is gone', async (stand) => {
    const { open, base } = stand;
    let id = '';
    for (const one of await sessionsOf(stand)) if ((await outlineOf(base, one)).traces.trace_id.length > 1) id = one;
    const page = await openTime(open, id);
    const rows = () => page.locator('[role=tree] [role=presentation]').evaluate((sheet) => sheet.clientHeight / 22);
    await page.focus('[role=tree]');
    await page.keyboard.press('End');
    const all = await rows();
    await page.getByLabel('Prompt', { exact: true }).selectOption({ index: 1 });
    await page.waitForFunction(() => location.search.includes('trace='));
    const count = await rows();
    assert.ok(count > 2 && count < all);
    await page.focus('[role=tree]');
    await page.keyboard.press('k');
    const active = (await page.getAttribute('[role=tree]', 'aria-activedescendant')) ?? '';
    assert.ok(active.endsWith(`-${count - 2}`), `${active} of ${count}`);
  });

  test('the strip has the colours of the system’s theme, also when that changes', async ({ open, base }) => {
    const { id } = await failingTool(base);
    const page = await openTime(open, id);
    const drawn = () => page.locator('.strip canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
    await page.emulateMedia({ colorScheme: 'light' });
    await page.waitForTimeout(300);
    const light = await drawn();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForTimeout(300);
    assert.not.equal(await drawn(), light);
  });

  test('few elements whatever the length, and a link opens a step in its place', async ({ open, base }) => {
    const { id, span } = await failingTool(base);
    const page = await openTime(open, id, `?span=${span}`);
    await page.waitForFunction(() => performance.getEntriesByName('svc:span-ready').length > 0);
    const row = await page.locator(`[data-row][data-span="${span}"]`).boundingBox();
    const list = await page.locator('.fixed-rows').first().boundingBox();
    assert.ok(row && list && row.y >= list.y && row.y + row.height <= list.y + list.height + 1, 'in view');
    assert.ok((await page.locator('[role=treeitem]').count()) <= 60);
  });

  test.run();
});
