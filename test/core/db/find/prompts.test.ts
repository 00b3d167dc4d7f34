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

/** A session a day, each with a piece that says `today`, the first twenty also `ago`; every tenth is of the project `seldom`. */
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
      const text = `the date of today, ${n < 20 ? 'long ago' : 'now'}: ${n}`;
      const piece = createHash('sha256').update(text).digest('hex');
      await database().sql(
        `insert into svc.found_prompts (piece_id, text, terms) values (decode($1, 'hex'), $2, $3::text::smallint[])`,
        [piece, text, `{${termsOf(text).join(',')}}`],
      );
      await database().sql(
        `insert into svc.found_prompt_uses (session_id, piece_id, trace_id, span_id, raw_turn_id, block, start, at)
         values ($1::text::uuid, decode($2, 'hex'), $3::text::uuid, $4::text::uuid, 1, 0, 0, $5::text::timestamptz)`,
        [idOf('session', n), piece, idOf('trace', n), idOf('span', n), at(n)],
      );
    }
  });

  const find = async (text: string, filter: Record<string, string>, most_uses?: number) => {
    const bound = most_uses === undefined ? {} : { most_uses };
    const search = { sought: termsOf(text), filter: { ...everywhere, ...filter }, limit: 4, ...bound };
    const found = await database().execute('promptCandidates', search);
    return found.map(({ span_id }) => Number.parseInt(span_id.slice(1, 8), 16));
  };

  test('the newest come first, however many pieces have the word', async () => {
    for (const most_uses of [undefined, 30, 4]) assert.equal(await find('today', {}, most_uses), [59, 58, 57, 56]);
  });

  test('a filter is put to all of them before any is left out', async () => {
    for (const most_uses of [undefined, 30, 4]) {
      assert.equal(await find('today', { project: 'seldom' }, most_uses), [50, 40, 30, 20], String(most_uses));
      assert.equal(await find('today', { until: at(12) }, most_uses), [11, 10, 9, 8], String(most_uses));
    }
  });

  test('of words that the newest do not have, some are found', async () => {
    const found = await find('ago', {}, 5);
    assert.equal([found.length, found.every((n) => n < 20)], [4, true], String(found));
    assert.equal(await find('ago', {}), [19, 18, 17, 16]);
    assert.equal((await find('ago', {}, 43)).slice(0, 3), [19, 18, 17], 'those among the newest stay first');
    assert.equal(await find('tomorrow', {}, 5), []);
  });
});
