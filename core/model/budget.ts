/** Budgets: what may be spent in a day or a month (UTC), and the crossing of one, which is reported once for each period. */
import { z } from '@hono/zod-openapi';
import { At } from './page.ts';

export const BudgetCrossing = z
  .object({
    budget: z.string().describe("the setting's name, such as `daily_usd` or `projects.atlas.daily_usd`"),
    project: z.string().optional().describe('absent: the spend of all projects'),
    period: z.enum(['day', 'month']),
    period_start: z.iso.date().describe('in UTC'),
    limit_usd: z.number(),
    spent_usd: z.number().describe('when it was noticed'),
    crossed_at: At,
  })
  .openapi('BudgetCrossing', {
    examples: [
      {
        budget: 'projects.atlas.daily_usd',
        project: 'atlas',
        period: 'day',
        period_start: '2026-07-27',
        limit_usd: 25,
        spent_usd: 25.31,
        crossed_at: '2026-07-27T15:02:11.000000Z',
      },
    ],
  });
export type BudgetCrossing = z.infer<typeof BudgetCrossing>;

export const BudgetState = z.object({
  budget: z.string(),
  project: z.string().optional(),
  period: z.enum(['day', 'month']),
  period_start: z.iso.date(),
  limit_usd: z.number(),
  spent_usd: z.number().describe('so far, by calls that have a price; deleted sessions included'),
  crossed_at: At.optional(),
  delivery: z
    .enum(['none', 'pending', 'delivered', 'failed'])
    .optional()
    .describe('of the webhook; none: none was set; failed: given up after three days'),
});
export type BudgetState = z.infer<typeof BudgetState>;
