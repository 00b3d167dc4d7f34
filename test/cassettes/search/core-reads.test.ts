/** What becomes of a search by words while the read API has no room for it. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import cassette from '../../../cassettes/search/cassette.ts';
import { manifest, type SearchConfig } from '../../../cassettes/search/manifest.ts';
import { parseManifest } from '../../../core/cassette/admission/manifest.ts';
import { readSettings } from '../../../core/cassette/admission/settings.ts';
import type { Env } from '../../../core/cassette/contract.ts';
import { openLog } from '../../../core/log.ts';
import type { Json } from '../../support/read-api.ts';

const test = suite('search: reads of the core');

/** A search by words; the core refuses its first reads with that status. */
async function searched(refusals: number, status: number, code = 'too-many-payload-reads') {
  let reads = 0;
  const env = {
    CONFIG: readSettings(parseManifest(manifest), {}) as SearchConfig,
    LOG: openLog('silent') as unknown as Env['LOG'],
    CORE: {
      fetch: async () =>
        reads++ < refusals
          ? Response.json({ code }, { status })
          : Response.json({ items: [], spans: 7, spans_indexed: 7, searched_to: null }),
    },
  } as unknown as Env<SearchConfig>;
  const request = new Request('http://cassette/api/search/spans?query=apples&mode=text');
  const response = await cassette.fetch(request, env, {} as never);
  return { reads, response, body: (await response.json()) as Json };
}

test('a read that is refused for a moment is repeated', async () => {
  const { reads, response, body } = await searched(1, 503);
  assert.equal([response.status, body.text_coverage], [200, { spans: 7, indexed: 7 }]);
  assert.is(reads, 2);
});

test('one that stays refused is 503, and says when to search again', async () => {
  const { reads, response, body } = await searched(99, 503);
  assert.equal([response.status, body.code, response.headers.get('retry-after')], [503, 'search-busy', '1']);
  assert.ok(reads > 1 && reads < 10, `${reads} reads`);
});

test('while the database is away it is not repeated: the core has waited already', async () => {
  const { reads, response, body } = await searched(1, 503, 'database-unavailable');
  assert.equal([reads, response.status, body.code], [1, 503, 'search-busy']);
});

test('another failure of the core is not repeated', async () => {
  const { reads, response, body } = await searched(1, 500);
  assert.equal([reads, response.status, body.code], [1, 500, 'search-failed']);
});

test.run();
