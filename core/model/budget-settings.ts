/** The settings `budget.*`: which spend is watched, and where a crossing is sent. */
import { isObject } from '../parse-json.ts';

export type PeriodBudget = {
  /** The setting's name below `budget`. */
  budget: string;
  /** Null: the spend of all. */
  project: string | null;
  period: 'day' | 'month';
  limit_usd: number;
};

export type Webhook = { url: string; secret: string };

/** Null as a whole: nothing is watched. */
export type Budgets = { budgets: PeriodBudget[]; webhook: Webhook | null };

export const LEAST_BUDGET_USD = 0.01;
const RULE = /^(?<project>.+)\.(?<period>daily|monthly)_usd=(?<usd>\d{1,9}(?:\.\d{1,6})?)$/s;

/** Of `project.daily_usd=25` or `project.monthly_usd=400`; a project's name may hold dots and `=`. Null: it is neither. */
export function projectBudget(text: string): PeriodBudget | null {
  const { project, period, usd } = RULE.exec(text)?.groups ?? {};
  if (project === undefined || Number(usd) < LEAST_BUDGET_USD) return null;
  const isDaily = period === 'daily';
  return {
    budget: `projects.${project}.${period}_usd`,
    project,
    period: isDaily ? 'day' : 'month',
    limit_usd: Number(usd),
  };
}

/** The same of tables by project, each with `daily_usd`, `monthly_usd` or both. What is none of these becomes a text that is no budget. */
export const projectBudgetTexts = (projects: Record<string, unknown>): string[] =>
  Object.entries(projects).flatMap(([project, limits]) =>
    isObject(limits)
      ? Object.entries(limits).map(([name, usd]) => `${project}.${name}=${typeof usd === 'number' ? usd : '?'}`)
      : [project],
  );

type Settings = {
  daily_usd?: number | undefined;
  monthly_usd?: number | undefined;
  projects: string[];
  webhook: string;
  webhook_secret: string;
};

/** Of a project and period that is named twice, the last one holds. */
export function budgetsOf({ daily_usd, monthly_usd, projects, webhook, webhook_secret }: Settings): Budgets | null {
  const ofAll: PeriodBudget[] = [
    ...(daily_usd ? [{ budget: 'daily_usd', project: null, period: 'day' as const, limit_usd: daily_usd }] : []),
    ...(monthly_usd
      ? [{ budget: 'monthly_usd', project: null, period: 'month' as const, limit_usd: monthly_usd }]
      : []),
  ];
  const byName = new Map(
    [...ofAll, ...projects.flatMap((text) => projectBudget(text) ?? [])].map((budget) => [budget.budget, budget]),
  );
  if (byName.size === 0) return null;
  return { budgets: [...byName.values()], webhook: webhook === '' ? null : { url: webhook, secret: webhook_secret } };
}
