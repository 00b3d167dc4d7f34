/** The pages beside the list of sessions, in a real browser with the cassettes: each shows what the API answers. */
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { SpanHits } from '../../cassettes/search/model.ts';
import type { FindHit, FindPage } from '../../core/model/find.ts';
import type { StatsSeries } from '../../core/model/stats-series.ts';
import { violations } from '../support/axe.ts';
import { eventually } from '../support/eventually.ts';
import { inBrowser } from '../support/web.ts';

type Stats = { total_cost: number; input_tokens: number; output_tokens: number; session_count: number };
/** As the page groups them. */
const bySession = (hits: readonly FindHit[]): FindHit[] =>
  [...new Set(hits.map(({ session_id }) => session_id))].flatMap((id) =>
    hits.filter(({ session_id }) => session_id === id),
  );

type Listed = { items: { id: string; rollup: { usage: { cost_usd: number | null } } }[] };

/** One of the demo's. */
const MIDNIGHT = '16dd8bce-b2a0-59a6-9baa-d811643b8fe4';
const READY = 'main[data-state=ready]';

const BREAKS = /\/v1\/cache\/breaks\?/;

/** Spend, whose window of seven days could not be read. */
async function failedSpend(open: (path: string, options: { tolerated: RegExp[] }) => Promise<Page>): Promise<Page> {
  const page = await open('/spend', { tolerated: [/500/] });
  await page.locator('#spend-leaks').waitFor();
  await page.route(BREAKS, (route) => route.fulfill({ status: 500, json: { code: 'internal', detail: 'Gone' } }));
  await page.selectOption('select[name=window]', '7');
  await page.locator('.problem', { hasText: 'Gone' }).waitFor();
  return page;
}

inBrowser(
  'the pages',
  (test) => {
    test('Health has the counts of coverage, a sentence for what is not recorded, and the room on disk', async ({
      open,
      base,
      service,
    }) => {
      const refused = await fetch(`${service.proxy}/openai/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"model":"m","prompt":"an older format"}',
      });
      await refused.text();
      type Coverage = {
        requests: number;
        outcomes: Record<string, number>;
        by_day: { day: string; requests: number }[];
      };
      await eventually(
        async () => ((await answer<Coverage>(base, '/v1/coverage')).outcomes.unsupported_format ?? 0) > 0,
      );
      const coverage = await answer<Coverage>(base, '/v1/coverage');
      const page = await open('/health');
      for (const [outcome, count] of Object.entries(coverage.outcomes)) {
        const row = page.locator(`[data-outcome=${outcome}]`);
        assert.is(await row.count(), count > 0 ? 1 : 0, outcome);
        if (count > 0) assert.is(await numberOf(row.locator(`[data-number=${outcome}]`)), count);
      }
      assert.match(await page.locator('[data-outcome=unsupported_format]').innerText(), 'Use a format that is read');
      assert.equal(
        await page.$$eval('[data-day]', (rows) => rows.map((row) => row.getAttribute('data-day'))),
        coverage.by_day.map(({ day }) => day),
      );
      type Status = { disk: { bytes: number; free_bytes: number }; counts: { spans: number } };
      const status = await answer<Status>(base, '/v1/admin/status');
      assert.is(await numberOf(page.locator('[data-number=spans]')), status.counts.spans);
      assert.ok((await numberOf(page.locator('[data-number=disk_bytes]'))) > 0);
      assert.ok((await numberOf(page.locator('[data-number=free_bytes]'))) > 0);
    });

    test('Cassettes names each with its state, what it may use and its tools', async ({ open, base }) => {
      type List = { cassettes: { name: string; state: string; tools: { name: string }[]; source_digest?: string }[] };
      await eventually(async () =>
        (await answer<List>(base, '/v1/cassettes')).cassettes.every(({ state }) => state === 'admitted'),
      );
      const { cassettes } = await answer<List>(base, '/v1/cassettes');
      assert.is(cassettes.length, 3);
      const page = await open('/cassettes');
      for (const { name, state, tools } of cassettes) {
        const card = page.locator(`[data-cassette=${name}]`);
        assert.is(await card.getAttribute('data-state'), state);
        await card.locator('summary').click();
        for (const tool of tools) assert.match(await card.innerText(), tool.name);
      }
    });

    test('Spend adds up to the stats: the sum, its days, its models, and the dearest sessions', async ({
      open,
      base,
    }) => {
      const page = await open('/spend');
      await page.waitForSelector(READY);
      const since = new Date(Date.now() - 29 * 86_400_000).toISOString().slice(0, 10);
      const stats = await answer<Stats>(base, `/v1/stats?since=${since}`);
      const series = await answer<StatsSeries>(base, `/v1/stats/series?since=${since}`);
      assert.is(await numberOf(page.locator('.spend-sum [data-number=total_cost]')), stats.total_cost);
      assert.is(await numberOf(page.locator('[data-number=input_tokens]').first()), stats.input_tokens);
      await page.locator('.days-table summary').click();
      const cells = series.points.flatMap(({ at, cells }) =>
        cells.flatMap((cell, place) => (cell ? [{ day: at.slice(0, 10), key: series.keys[place], cell }] : [])),
      );
      assert.ok(cells.length > 1);
      const shown = await page.$$eval('.days-table tbody tr', (rows) =>
        rows.map((row) => ({
          day: row.getAttribute('data-day'),
          key: row.getAttribute('data-key'),
          numbers: [...row.querySelectorAll('[data-number]')].map((each) => each.getAttribute('data-value')),
        })),
      );
      assert.equal(
        shown,
        cells.toReversed().map(({ day, key, cell }) => ({
          ...{ day, key },
          numbers: [
            cell.cost_usd === 0 && cell.unpriced_tokens > 0 ? '' : String(cell.cost_usd), // unpriced: never $0
            ...[cell.input_tokens, cell.cache_read_tokens, cell.cache_write_tokens, cell.output_tokens].map(String),
            String(cell.tool_calls),
          ],
        })),
      );
      assert.ok(Math.abs(sum(cells.map(({ cell }) => cell.cost_usd)) - stats.total_cost) < 1e-9);
      const dear = cells.filter(({ cell }) => cell.cost_usd > 0);
      assert.is(await page.locator('[data-bar]').count(), dear.length);
      assert.ok(Math.abs(sum(await numbersOf(page, '[data-part] [data-number=part]')) - stats.total_cost) < 1e-9);
      const models = await numbersOf(page, '[data-by=model] [data-number=total_cost]');
      assert.ok(Math.abs(sum(models) - stats.total_cost) < 1e-9);
      assert.equal(
        await page.$$eval('.spend-unpriced [data-number=unpriced_tokens]', (all) =>
          all.map((each) => Number(each.getAttribute('data-value'))),
        ),
        series.unpriced_models.map(({ tokens }) => tokens),
      );
      const dearest = (await answer<Listed>(base, '/v1/browse/sessions?sort=total_cost')).items
        .filter(({ rollup }) => rollup.usage.cost_usd !== null)
        .slice(0, 8);
      assert.equal(
        await page.$$eval('[data-session]', (rows) => rows.map((row) => row.getAttribute('data-session'))),
        dearest.map(({ id }) => id),
      );
      await page.selectOption('select[name=by]', 'provider');
      await page.waitForSelector(`${READY} [data-by=provider]`);
      assert.ok(
        Math.abs(sum(await numbersOf(page, '[data-by=provider] [data-number=total_cost]')) - stats.total_cost) < 1e-9,
      );
      await page.selectOption('select[name=by]', 'model');
      await page.waitForSelector(`${READY} [data-by=model]`);
      const [{ day, key } = { day: '', key: '' }] = dear;
      await page.locator(`[data-bar="${day}"][data-key="${key}"]`).click();
      await page.waitForSelector('main[data-page=sessions][data-state=ready]');
      const query = new URL(page.url()).searchParams;
      assert.equal([query.get('since'), query.get('model'), query.get('sort')], [day, key, 'total_cost']);
      assert.ok((await page.locator('[data-session]').count()) > 0);
    });

    test('Spend shows what was avoidable only for the window that is chosen, and says when it cannot be read', async ({
      open,
    }) => {
      const page = await failedSpend(open);
      assert.is(await page.locator('#spend-leaks').count(), 0);
      await page.unroute(BREAKS);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.locator('#spend-leaks').waitFor();
      assert.is(await page.locator('.problem').count(), 0);
    });

    test('Spend of a window that is being read does not show why another could not be', async ({ open }) => {
      const page = await failedSpend(open);
      await page.route(BREAKS, () => {}); // never answered
      await page.selectOption('select[name=window]', '90');
      await page.locator('.problem').waitFor({ state: 'detached' });
      await page.waitForSelector('main[data-page=spend][data-state=loading]');
    });

    test('Spend as CSV has no cost where none is known', async ({ open }) => {
      const page = await open('/spend');
      await page.waitForSelector(READY);
      await page.locator('.days-table summary').click();
      await page.evaluate(() => {
        navigator.clipboard.writeText = async (text) => void Object.assign(globalThis, { copied: text });
      });
      await page.getByRole('button', { name: 'CSV' }).click();
      await page.locator('.toast', { hasText: 'Copied' }).waitFor();
      const csv = await page.evaluate(() => (globalThis as unknown as { copied: string }).copied);
      const shown = await page.$$eval('.days-table tbody [data-number=cost_usd]', (cells) =>
        cells.map((cell) => cell.getAttribute('data-value')),
      );
      const costs = csv
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(',').at(2));
      assert.ok(shown.includes(''), 'one is not known');
      assert.equal(costs, shown);
    });

    test('an export that breaks off says so in words', async ({ open }) => {
      const page = await open('/sessions');
      await page.evaluate(`{
        const own = fetch;
        globalThis.fetch = async (path, options) => {
          const response = await own(path, options);
          if (!path.includes('/cassettes/export/')) return response;
          globalThis.broken = response.status;
          return new Response(new ReadableStream({ pull: (body) => body.error(new TypeError('network error')) }));
        };
      }`);
      await page.keyboard.press('j');
      await page.keyboard.press('x');
      await page.click('[data-action=export]');
      await page.locator('dialog .primary').click();
      await page.waitForSelector('dialog .problem');
      assert.is(await page.evaluate('broken'), 200);
      assert.is(await page.getAttribute('dialog .problem', 'data-code'), 'unreached');
    });

    test('Find leads an id to its place, words to their sessions, and meaning to steps', async ({ open, base }) => {
      // Else the page and the test may read different states of the two indexes; and the first question loads the model.
      await eventually(async () => {
        const path = '/v1/cassettes/search/spans?query=midnight&mode=hybrid';
        const { coverage, text_coverage } = await answer<Partial<SpanHits>>(base, path);
        return coverage?.pending === 0 && text_coverage?.indexed === text_coverage?.spans;
      }, 120_000);
      const page = await open('/find?q=midnight');
      // A search looks for words like these only while it has the time, which two searches of a loaded machine may not both have.
      await eventually(async () => {
        await page.reload();
        await page.waitForSelector(READY);
        const { items } = await answer<FindPage>(base, '/v1/find?text=midnight&limit=30');
        const shown = await page.$$eval('[data-hits=words] [data-span]', (rows) =>
          rows.map((row) => row.getAttribute('data-span')),
        );
        return isDeepStrictEqual(
          shown,
          bySession(items).map(({ span_id }) => span_id),
        );
      }, 120_000);
      assert.is(await page.locator('[data-hits=meaning]').getAttribute('data-off'), null);
      const near = await answer<SpanHits>(base, '/v1/cassettes/search/spans?query=midnight&mode=hybrid&top_k=10');
      assert.ok(near.results.length > 0);
      assert.equal(await spansOf(page, 'meaning'), idsOf(near));
      await page.goto(`${base}/find?q=midnight&status=error&in=tools`);
      await page.waitForSelector(READY);
      const failed = await answer<SpanHits>(
        base,
        '/v1/cassettes/search/spans?query=midnight&status=error&mode=hybrid&top_k=10',
      );
      assert.not.equal(idsOf(failed), idsOf(near));
      assert.equal(await spansOf(page, 'meaning'), idsOf(failed));
      await page.goBack();
      await page.waitForSelector(READY);
      await page.fill('input[name=find]', MIDNIGHT);
      await page.keyboard.press('Enter');
      await page.waitForURL(`${base}/sessions/${MIDNIGHT}`);
      await page.goBack();
      await page.waitForURL(`${base}/find?q=midnight`);
    });

    test('a skill is read with the steps that say so, compared with its versions, and downloaded', async ({
      open,
      base,
    }) => {
      const write = async <T>(path: string, body: object): Promise<T> => {
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(`${base}/v1/cassettes/skills${path}`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        });
        assert.is(response.status, 201);
        return (await response.json()) as T;
      };
      const content = '# At the harbour\n\n1. Compare dates in its time zone\n\n<img src=x onerror=alert(1)>\n';
      const { id } = await write<{ id: string }>('', {
        name: 'Test <b>dates</b>',
        description: 'When tests fail',
        tags: ['time'],
        content,
      });
      await write(`/${id}/versions`, { changelog: 'First of all' });
      await write(`/${id}/versions`, { changelog: 'One more', content: `${content}2. Look twice\n` });
      const page = await open('/skills');
      await page.fill('input[name=skill-words]', 'dates');
      await page.waitForFunction(() => location.search === '?q=dates');
      await page.click('nav a:has-text("Skills")');
      await page.waitForFunction(() => location.search === '');
      await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[name=skill-words]')?.value === '');
      await page.locator(`[data-skill="${id}"] a`, { hasText: 'Test <b>dates</b>' }).click();
      await page.waitForSelector('main[data-page=skill][data-state=ready]');
      await page.locator('.skill-content', { hasText: 'Compare dates in its time zone' }).waitFor();
      assert.is(await page.locator('main img').count(), 0, 'HTML stays text');
      const { versions } = await answer<{ versions: { semver: string }[] }>(
        base,
        `/v1/cassettes/skills/${id}/versions`,
      );
      assert.ok(versions.length >= 2);
      assert.equal(
        await page.$$eval('[data-skill-version]', (rows) => rows.map((row) => row.getAttribute('data-skill-version'))),
        versions.map(({ semver }) => semver),
      );
      await page.locator('[data-skill-version] summary').first().click();
      await page.locator('[data-skill-version]', { hasText: '2. Look twice' }).first().waitFor();
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('[data-action=download]')]);
      assert.match(await readFile(await download.path(), 'utf8'), 'Compare dates in its time zone');
    });

    test('sessions that are selected are exported whole, and so are all of the last days', async ({ open, base }) => {
      const page = await open('/sessions');
      await page.keyboard.press('j');
      await page.keyboard.press('x');
      await page.keyboard.press('j');
      await page.keyboard.press('x');
      await page.click('[data-action=export]');
      const exported = async () => {
        const [download] = await Promise.all([page.waitForEvent('download'), page.locator('dialog .primary').click()]);
        await page.waitForSelector('[data-export=done]');
        const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
        return lines.map((line) => JSON.parse(line) as { session: { id: string }; links?: unknown[] });
      };
      const { items } = await answer<Listed>(base, '/v1/browse/sessions');
      const two = await exported();
      assert.equal(
        two.map(({ session }) => session.id),
        items.slice(0, 2).map(({ id }) => id),
      );
      assert.ok(two.every(({ links }) => Array.isArray(links)));
      assert.match(await page.locator('[data-export]').innerText(), /^2 of 2 sessions/);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: '2 selected' }).click();
      await page.click('[data-action=export]');
      assert.equal(await violations(page), []);
      const all = await exported();
      assert.equal(all.map(({ session }) => session.id).sort(), items.map(({ id }) => id).sort());
    });

    test.run();
  },
  { env: { SVC_CASSETTES_BUILT_IN: 'true' } },
);

const answer = async <T>(base: string, path: string): Promise<T> => (await (await fetch(`${base}${path}`)).json()) as T;

const idsOf = ({ results }: SpanHits): string[] => results.map(({ span_id }) => span_id);

/** Of the hits of a list on Find. */
const spansOf = (page: Page, list: string): Promise<(string | null)[]> =>
  page.$$eval(`[data-hits=${list}] [data-span]`, (rows) => rows.map((row) => row.getAttribute('data-span')));

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
const numberOf = async (locator: ReturnType<Page['locator']>): Promise<number> =>
  Number(await locator.getAttribute('data-value'));
const numbersOf = (page: Page, selector: string): Promise<number[]> =>
  page.$$eval(selector, (found) => found.map((element) => Number(element.getAttribute('data-value'))));
