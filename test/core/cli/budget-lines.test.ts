/** The lines of budgets in `svc status`: what was spent of which limit, and whether that is exceeded. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { budgetLines } from '../../../core/cli/budget-lines.ts';
import type { BudgetState } from '../../../core/model/budget.ts';

const test = suite('budgetLines');

const month: BudgetState = {
  ...{ budget: 'monthly_usd', period: 'month', period_start: '2026-07-01', limit_usd: 800, spent_usd: 450 },
};
const crossing = { crossed_at: '2026-07-10T15:02:11.000000Z', delivery: 'delivered' } as const;

test('a budget is exceeded by its crossing, else where more than its limit is spent', () => {
  const line = (own: Partial<BudgetState>) => budgetLines([{ ...month, ...own }])[0]?.[1];
  assert.is(line({}), '$450.00 of $800.00 in 2026-07 (UTC)');
  assert.is(
    line({ limit_usd: 400, ...crossing }),
    '$450.00 of $400.00 in 2026-07 (UTC); exceeded at 2026-07-10T15:02Z, the webhook has it',
  );
  assert.is(line({ spent_usd: 850 }), '$850.00 of $800.00 in 2026-07 (UTC); exceeded');
  assert.is(line({ spent_usd: 800 }), '$800.00 of $800.00 in 2026-07 (UTC)');
});

test.run();
