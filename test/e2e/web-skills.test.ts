/** A skill that a model drew from recorded sessions, in a real browser: each of its claims leads to the step that says so. */
import * as assert from 'uvu/assert';
import type { SessionPage } from '../../core/model/session.ts';
import { claimOfEachRecord, startScriptedLlm } from '../support/scripted-llm.ts';
import { eventually, read } from '../support/serve.ts';
import { inBrowser } from '../support/web.ts';

type Generated = { id: string; claims: { text: string; spans: { traceId: string; spanId: string }[] }[] };

inBrowser(
  'a skill that was generated',
  (test) => {
    test('has its claims with links, each of which opens the step that it was drawn from', async ({ base, open }) => {
      type Cassettes = { cassettes: { name: string; state: string }[] };
      await eventually('the skills', async () =>
        (await read<Cassettes>(`${base}/v1/cassettes`)).cassettes.some(
          ({ name, state }) => name === 'skills' && state === 'admitted',
        ),
      );
      const { items } = await read<SessionPage>(`${base}/v1/sessions?limit=50`);
      const session = items.find(({ display_title }) => display_title.includes('departs today'));
      const response = await fetch(`${base}/v1/cassettes/skills/generate`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ sessionIds: [session?.id] }),
      });
      assert.is(response.status, 201, await response.clone().text());
      const { id, claims } = (await response.json()) as Generated;
      assert.ok(claims.length > 2);
      const page = await open(`/skills/${id}`);
      const shown = page.locator('[data-claim]');
      assert.is(await shown.count(), claims.length);
      for (const [n, { text, spans }] of claims.slice(0, 3).entries()) {
        assert.ok((await shown.nth(n).textContent())?.startsWith(text), text);
        const links = shown.nth(n).locator('a[data-span]');
        assert.equal(
          await links.evaluateAll((all) => all.map((link) => link.getAttribute('data-span'))),
          spans.map(({ spanId }) => spanId),
        );
        await links.first().click();
        await page.waitForSelector('main[data-page=session]');
        assert.is(new URL(page.url()).pathname, `/sessions/${session?.id}`);
        const step = page.locator(`.talk-list [data-span="${spans[0]?.spanId}"]`);
        await step.first().waitFor();
        await page.waitForFunction(() => performance.getEntriesByName('svc:span-ready').length > 0);
        await page.goto(`${base}/skills/${id}`);
        await shown.first().waitFor();
      }
      await page.locator('#sources ~ ul a').first().click();
      await page.waitForSelector('main[data-page=session] [data-row]');
    });

    test.run();
  },
  {
    beside: async () => {
      const llm = await startScriptedLlm(claimOfEachRecord);
      return {
        env: {
          SVC_CASSETTES_BUILT_IN: 'true',
          SVC_CASSETTE_SKILLS_LLM_BASE_URL: llm.url,
          SVC_CASSETTE_SKILLS_LLM_API_KEY: 'key-of-the-model',
        },
        close: llm.close,
      };
    },
  },
);
