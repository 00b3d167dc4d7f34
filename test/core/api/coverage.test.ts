import * as assert from 'uvu/assert';
import { Outcome } from '../../../core/model/coverage.ts';
import { databaseSuite } from '../../support/databases.ts';
import { type Json, testApi } from '../../support/read-api.ts';

databaseSuite('coverage of the read API', (test, database) => {
  const get = async (): Promise<Json> =>
    (await testApi({ execute: database().execute }).request('/v1/coverage')).json();
  const none = Object.fromEntries(Outcome.options.map((outcome) => [outcome, 0]));

  test.before.each(() => database().reset());

  test('before anything came in every outcome is 0', async () => {
    assert.equal(await get(), { requests: 0, outcomes: none, by_provider: {}, by_day: [] });
  });

  test('each request has one outcome, told by provider and by day', async () => {
    await database().sql(`insert into svc.coverage (day, provider, outcome, requests) values
      ('2026-07-26', 'anthropic', 'captured', 5000000000), ('2026-07-27', 'anthropic', 'captured', 2),
      ('2026-07-27', 'anthropic', 'partial', 1), ('2026-07-27', 'openai', 'journal_full', 4)`);
    const ledger = await get();
    assert.is(ledger.requests, 5_000_000_007);
    assert.equal(ledger.outcomes, { ...none, captured: 5_000_000_002, partial: 1, journal_full: 4 });
    assert.equal(ledger.by_provider, {
      anthropic: { requests: 5_000_000_003, outcomes: { ...none, captured: 5_000_000_002, partial: 1 } },
      openai: { requests: 4, outcomes: { ...none, journal_full: 4 } },
    });
    assert.equal(ledger.by_day, [
      { day: '2026-07-27', requests: 7, outcomes: { ...none, captured: 2, partial: 1, journal_full: 4 } },
      { day: '2026-07-26', requests: 5_000_000_000, outcomes: { ...none, captured: 5_000_000_000 } },
    ]);
  });

  test('days are the newest thirty', async () => {
    await database().sql(`insert into svc.coverage (day, provider, outcome, requests)
      select date '2026-01-01' + n, 'ollama', 'captured', 1 from generate_series(1, 40) n`);
    const { by_day, requests } = await get();
    assert.equal([by_day.length, by_day[0].day, by_day[29].day, requests], [30, '2026-02-10', '2026-01-12', 40]);
  });
});
