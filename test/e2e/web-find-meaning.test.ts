/** Find in a real browser, where the cassette `search` of an operator's own list has not all that ours has. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Manifest } from '../../core/cassette/contract.ts';
import { cassetteFolder, removeCassetteFolder } from '../support/cassette-folder.ts';
import { eventually, read } from '../support/serve.ts';
import { inBrowser, type WebStand } from '../support/web.ts';

const READY = 'main[data-page=find][data-state=ready]';
const HIT = {
  ...{ session_id: '5e551011-0000-4000-8000-000000000001', trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901' },
  ...{ span_id: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112', score: 0.7, user_prompt: 'When does it depart?' },
  ...{ snippet: 'The ship departs at midnight', model: 'gpt-5', started_at: '2026-11-20T09:00:00Z' },
};

inBrowser('Find beside an own search cassette', (test) => {
  const folders: string[] = [];
  test.after(async () => {
    for (const folder of folders) await removeCassetteFolder(folder);
  });

  /** Puts a cassette `search` on the list that finds one step by its meaning. @param refusal JavaScript: of a search that names a mode */
  async function listSearch({ folder, base }: WebStand, version: string, core: boolean, refusal: string) {
    const manifest: Partial<Manifest> = { cassette: { name: 'search', version }, bindings: { core } };
    const source = await cassetteFolder({
      ...{ name: 'search', manifest },
      document: (document) => ({
        ...document,
        paths: { '/api/search/spans': { get: { operationId: 'spans', responses: { 200: { description: 'Found' } } } } },
      }),
      before: `
        if (path === '/api/search/spans')
          return searchParams.has('mode') ? ${refusal} : json({ query: '', count: 1, results: [${JSON.stringify(HIT)}] });`,
    });
    folders.push(source);
    const entry = { name: 'search', source, isolation: 'process', grants: { bindings: core ? ['core'] : [] } };
    await writeFile(join(folder, 'cassette.manifest.json'), JSON.stringify({ cassettes: [entry] }));
    type Cassettes = { cassettes: { name: string; state: string; version?: string }[] };
    await eventually(`search ${version}`, async () =>
      (await read<Cassettes>(`${base}/v1/cassettes`)).cassettes.some(
        (one) => one.name === 'search' && one.state === 'admitted' && one.version === version,
      ),
    );
  }

  const meaningOf = async (stand: WebStand, tolerated: readonly RegExp[] = []) => {
    const page = await stand.open('/find?q=midnight', { tolerated });
    await page.waitForSelector(`${READY} [data-hits=meaning] h2`);
    await page.waitForSelector('[data-hits=meaning] [data-span]');
    const list = page.locator('[data-hits=meaning]');
    assert.is(await list.getAttribute('data-off'), null);
    assert.is(await list.locator('h2').innerText(), 'Meaning (1)');
    assert.is(await list.locator('[data-span]').getAttribute('data-span'), HIT.span_id);
    assert.match(await list.innerText(), 'does not have the binding core');
  };

  test('one of an earlier release, without the binding core, is searched by meaning, and what it lacks is named', async (stand) => {
    await listSearch(stand, '0.9.0', false, `json({ code: 'bad-request', detail: 'Cannot read the query' }, 400)`);
    await meaningOf(stand);
  });

  test('so is one that has the binding, and has nothing behind it', async (stand) => {
    const refusal = `json({ code: 'search-unconfigured', detail: 'Cannot search: no read API' }, 503)`;
    await listSearch(stand, '0.9.1', true, refusal);
    await meaningOf(stand, [/503/]);
  });

  test.run();
});
