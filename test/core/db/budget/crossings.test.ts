/** Crossings of budgets: each once, whoever notices it; their deliveries one at a time. */
import * as assert from 'uvu/assert';
import type { PeriodBudget } from '../../../../core/model/budget-settings.ts';
import { budgetsOf, projectBudget } from '../../../../core/model/budget-settings.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { instantAt, NINE_MS, put } from '../../../support/stat-nodes.ts';

const BUDGETS = budgetsOf({
  ...{ daily_usd: 5, monthly_usd: 1_000, projects: ['atlas.daily_usd=2', 'a=b.c.monthly_usd=1'] },
  ...{ webhook: '', webhook_secret: '' },
})?.budgets as PeriodBudget[];

/** A node of this moment. */
const now = (usd: string, project: string) => ({ project, cost_usd: usd, created_us: (Date.now() - NINE_MS) * 1000 });

/** One of the day or month before, so many of these ago, at its end. */
const ended = (period: 'day' | 'month', back: number) => {
  const now = new Date();
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const next = period === 'day' ? Date.UTC(year, month, now.getUTCDate() - back + 1) : Date.UTC(year, month - back + 1);
  return { cost_usd: '9.000000000000', created_us: (next - 1_000 - NINE_MS) * 1000 };
};

databaseSuite('crossings of budgets', (test, database) => {
  const cross = (webhook = true) => database().execute('crossBudgets', { budgets: BUDGETS, webhook });
  const forget = (at: TestDatabase) => at.sql('truncate svc.budget_crossings restart identity');

  test('a rule names a project, which may hold dots and equals signs, a period and dollars', () => {
    assert.equal(projectBudget('a=b.c.monthly_usd=1'), {
      budget: 'projects.a=b.c.monthly_usd',
      project: 'a=b.c',
      period: 'month',
      limit_usd: 1,
    });
    assert.is(projectBudget('a.daily_usd=0.05')?.limit_usd, 0.05);
    for (const wrong of ['atlas', 'atlas=2', '.daily_usd=2', 'a.daily_usd=0', 'a.daily_usd=0.001', 'a.yearly_usd=1'])
      assert.is(projectBudget(wrong), null, wrong);
  });

  test('a period that spent more than its limit is stored once, whoever looks at the same time', async () => {
    await forget(database());
    await put(database(), [now('2.000000000000', 'atlas'), now('1.500000000000', 'other')]);
    assert.equal(await cross(), [], 'all of it is not more than it');
    await put(database(), [now('2.000000000001', 'atlas'), now('1.500000000000', 'other')], [1]);
    const found = (await Promise.all(Array.from({ length: 6 }, () => cross()))).flat();
    assert.equal(
      found.map(({ budget, project, period, limit_usd, spent_usd }) => ({
        budget,
        project,
        period,
        limit_usd,
        spent_usd,
      })),
      [
        {
          budget: 'projects.atlas.daily_usd',
          project: 'atlas',
          period: 'day',
          limit_usd: 2,
          spent_usd: 2.000000000001,
        },
      ],
      'also of a session that was deleted',
    );
    await put(database(), [now('9.000000000000', 'a=b.c')]);
    assert.equal((await cross()).map(({ budget }) => budget).sort(), ['daily_usd', 'projects.a=b.c.monthly_usd']);
    assert.equal(await cross(), []);
    const ids = (await database().execute('crossingsAfter', { after: 0, limit: 9 })).map(
      ({ crossing_id }) => crossing_id,
    );
    assert.equal(
      ids,
      [...ids].sort((a, b) => a - b),
    );
    assert.is(await database().execute('lastCrossing', {}), ids.at(-1));
    assert.equal((await database().execute('crossingsAfter', { after: ids[0] ?? 0, limit: 9 })).length, 2);
    const states = await database().execute('budgetStates', { budgets: BUDGETS });
    assert.equal(states.map(({ budget, spent_usd, delivery }) => [budget, spent_usd, delivery]).sort(), [
      ['daily_usd', 9, 'pending'],
      ['monthly_usd', 9, undefined],
      ['projects.a=b.c.monthly_usd', 9, 'pending'],
      ['projects.atlas.daily_usd', 0, 'pending'],
    ]);
  });

  test('a limit that is raised within the period is not exceeded by the crossing of the lower one; none comes twice', async () => {
    await forget(database());
    const budget = (limit_usd: number): PeriodBudget[] => [
      { budget: 'monthly_usd', project: null, period: 'month', limit_usd },
    ];
    const crossed = async (limit_usd: number) =>
      (await database().execute('crossBudgets', { budgets: budget(limit_usd), webhook: true })).length;
    const state = async (limit_usd: number) => {
      const [state] = await database().execute('budgetStates', { budgets: budget(limit_usd) });
      return [state?.limit_usd, state?.spent_usd, typeof state?.crossed_at, state?.delivery];
    };
    await put(database(), [now('4.500000000000', 'atlas')]);
    assert.is(await crossed(4), 1);
    assert.equal(await state(4), [4, 4.5, 'string', 'pending']);
    assert.equal(await state(8), [8, 4.5, 'undefined', undefined]);
    assert.equal(await state(2), [2, 4.5, 'string', 'pending'], 'a lower one is exceeded since then at least');
    await put(database(), [now('9.000000000000', 'atlas')]);
    assert.is(await crossed(8), 0, 'once for each budget and period');
    assert.equal(await state(8), [8, 9, 'undefined', undefined]);
  });

  test('what is spent late crosses the period before once, where its budget had been watched with this limit before that ended', async () => {
    await forget(database());
    for (const period of ['day', 'month'] as const) {
      const budget = (limit_usd: number): PeriodBudget[] => [
        { budget: `${period}ly`, project: null, period, limit_usd },
      ];
      const late = async (limit_usd: number) =>
        (await database().execute('crossBudgets', { budgets: budget(limit_usd), webhook: true })).map(
          ({ period_start, spent_usd }) => [period_start, spent_usd],
        );
      await put(database(), [ended(period, 1)]);
      const start = instantAt(ended(period, 1).created_us)
        .slice(0, period === 'day' ? 10 : 7)
        .padEnd(10, '-01');
      assert.equal(await late(5), [], 'a new budget does not report the past');
      await database().sql(`update svc.watched_budgets set since = now() - interval '70 days'`);
      const restart = (limit_usd: number) => database().execute('forgetBudgets', { budgets: budget(limit_usd) });
      await restart(6);
      assert.equal(await late(6), [], 'nor does one whose limit was changed');
      await restart(5);
      assert.equal(await late(5), [], 'nor where it was changed back');
      await database().sql(`update svc.watched_budgets set since = now() - interval '70 days'`);
      const found = (await Promise.all([late(5), late(5), late(5)])).flat();
      assert.equal(found, [[start, 9]]);
      assert.equal(await late(5), []);
      await put(database(), [ended(period, 2)]);
      assert.equal(await late(5), [], 'nothing before that period is looked at');
      await put(database(), [ended(period, 1)]);
      await forget(database());
      assert.equal(await late(7), [], 'of another process, with another limit');
      assert.equal(await late(5), [[start, 9]], 'whose limit takes nothing from this one');
      await database().execute('forgetBudgets', { budgets: [] });
      await forget(database());
      assert.equal(await late(5), [], 'one that nobody watched for a while is new');
    }
    const [{ budget, crossing_id } = {}] = await database().execute('crossingsAfter', { after: 0, limit: 1 });
    const taken = await database().execute('takeDelivery', { ms: 60_000 });
    assert.equal([taken?.crossing.budget, taken?.crossing.crossing_id], [budget, crossing_id], 'it is delivered too');
  });

  test('a delivery is taken by one, and by another when that one dies', async () => {
    await forget(database());
    await put(database(), [now('9.000000000000', 'other')]);
    assert.is((await cross()).length, 1);
    const take = (ms: number) => database().execute('takeDelivery', { ms });
    const taken = (await Promise.all([take(100), take(100), take(100)])).filter((one) => one !== null);
    assert.is(taken.length, 1);
    assert.is(await take(100), null);
    await new Promise((done) => setTimeout(done, 150));
    const again = await take(60_000);
    assert.is(again?.attempts, 2);
    const { crossing_id = 0 } = again?.crossing ?? {};
    await database().execute('endDelivery', { crossing_id, error: 'status 500', again_ms: 0 });
    assert.is((await take(60_000))?.attempts, 3);
    await database().execute('endDelivery', { crossing_id, error: null, again_ms: null });
    assert.is(await take(0), null);
  });
});
