/** The budgets, each in its current period, for the page of `svc status`. */
import type { BudgetState } from '../model/budget.ts';
import { dollars, plain } from './units.ts';

/** Names and values of rows; none where no budget is set. */
export const budgetLines = (budgets: readonly BudgetState[] = []): [string, string][] =>
  budgets.map((budget, i) => [i === 0 ? 'budgets' : '', lineOf(budget)]);

function lineOf({ project, period, period_start, limit_usd, spent_usd, crossed_at, delivery }: BudgetState): string {
  const whose = project === undefined ? '' : `${plain(project)}: `;
  const of = period === 'day' ? `on ${period_start}` : `in ${period_start.slice(0, 7)}`;
  const noticed = crossed_at === undefined ? '' : ` at ${crossed_at.slice(0, 16)}Z${WORDS[delivery ?? 'none']}`;
  // A raised limit is exceeded without a crossing of its own: there is one for each budget and period.
  const exceeded = crossed_at !== undefined || spent_usd > limit_usd ? `; exceeded${noticed}` : '';
  return `${whose}${dollars(spent_usd)} of ${dollars(limit_usd)} ${of} (UTC)${exceeded}`;
}

const WORDS = {
  none: '',
  pending: ', the webhook waits',
  delivered: ', the webhook has it',
  failed: ', the webhook was given up',
};
