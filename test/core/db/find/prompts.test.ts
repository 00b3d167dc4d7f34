/** Are the prompts that a search compares the newest that its filter lets through, however many pieces have the word? */
import { createHash } from 'node:crypto';
import * as assert from 'uvu/assert';
import { partOfWord, wordsOf } from '../../../../core/find/terms.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { idOf, insertRollups, insertSessions, insertSpans, insertTraces } from '../../../support/projection-rows.ts';

const SESSIONS = 60;
const DAY = 86_400_000;
const at = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * DAY).toISOString();
const everywhere = {
  ...{ project: null, agent_name: null, model: null, provider: null, harness_id: null },
  ...{ tool: null, status: null, since: null, until: null },
};
const termsOf = (text: string) => wordsOf(text).flatMap(partOfWord);

/** A session a day, each with a piece that says `today`; every tenth is of the project `seldom`. */
databaseSuite('candidates of prompts', (test, database) => {
  test.before(async () => {
    const all = Array.from({ length: SESSIONS }, (_, n) => n);
    await insertSessions(
      database(),
      all.map((n) => ({ n })),
    );
    await insertRollups(
      database(),
      all.map((n) => ({ n, project: n % 10 === 0 ? 'seldom' : 'daily' })),
    );
    await insertTraces(
      database(),
      all.map((n) => ({ n, session: n })),
    );
    await insertSpans(
      database(),
      all.map((n) => ({ n, trace: n, session: n, started_at: at(n) })),
    );
    for (const n of all) {
      const text = `the date of today: ${n}`;
      const piece = createHash('sha256').update(text).digest('hex');
      await database().sql(
        `insert into svc.found_prompts (piece_id, text, terms) values (decode($1, 'hex'), $2, $3::text::smallint[])`,
        [piece, text, `{${termsOf('the date of today').join(',')}}`],
      );
      await database().sql(
        `insert into svc.found_prompt_uses (session_id, piece_id, trace_id, span_id, raw_turn_id, block, start, at)
         values ($1::text::uuid, decode($2, 'hex'), $3::text::uuid, $4::text::uuid, 1, 0, 0, $5::text::timestamptz)`,
        [idOf('session', n), piece, idOf('trace', n), idOf('span', n), at(n)],
      );
    }
  });

  type Bounds = { most_pieces?: number; most_uses?: number };
  const find = async (
    text: string,
    filter: Partial<typeof everywhere> | Record<string, string>,
    bounds: Bounds = {},
  ) => {
    const search = { sought: termsOf(text), filter: { ...everywhere, ...filter }, limit: 4, ...bounds };
    const found = await database().execute('promptCandidates', search);
    return found.map(({ span_id }) => Number.parseInt(span_id.slice(1, 8), 16));
  };

  const BOUNDS: Bounds[] = [{}, { most_pieces: 5 }, { most_pieces: 5, most_uses: 8 }];

  test('the newest come first, however many pieces have the word', async () => {
    for (const bounds of BOUNDS)
      assert.equal(await find('today', {}, bounds), [59, 58, 57, 56], JSON.stringify(bounds));
  });

  test('a filter is put to all of them before any is left out', async () => {
    for (const bounds of BOUNDS) {
      assert.equal(await find('today', { project: 'seldom' }, bounds), [50, 40, 30, 20], JSON.stringify(bounds));
      assert.equal(await find('today', { until: at(12) }, bounds), [11, 10, 9, 8], JSON.stringify(bounds));
    }
  });

  test('of very many pieces the newest uses alone are looked at', async () => {
    assert.equal(await find('today', {}, { most_pieces: 5, most_uses: 3 }), [59, 58, 57]);
    assert.equal(await find('tomorrow', {}, { most_pieces: 5, most_uses: 3 }), []);
  });
});
