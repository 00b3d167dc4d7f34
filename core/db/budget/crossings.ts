/** The spend of budgets' periods, their crossings, each stored once, and what is still to be delivered of these. */
import { type SQL, sql } from 'drizzle-orm';
import type { BudgetCrossing, BudgetState } from '../../model/budget.ts';
import type { PeriodBudget } from '../../model/budget-settings.ts';
import { usd } from '../columns/column.ts';
import { instantText, jsonText } from '../literals.ts';
import type { Sql } from '../sql.ts';

export type StoredCrossing = BudgetCrossing & { crossing_id: number };

type CrossingRow = Omit<StoredCrossing, 'project' | 'limit_usd' | 'spent_usd'> & {
  project: string | null;
  limit_usd: string;
  spent_usd: string;
};

const COLUMNS = sql.raw(
  `crossing_id, budget, project, period, period_start::text as period_start, limit_usd, spent_usd,
   ${instantText('crossed_at')} as crossed_at`,
);

const stored = ({
  crossing_id,
  budget,
  project,
  period,
  period_start,
  limit_usd,
  spent_usd,
  crossed_at,
}: CrossingRow) => ({
  crossing_id,
  budget,
  ...(project !== null && { project }),
  ...{ period, period_start, limit_usd: usd(limit_usd) ?? 0, spent_usd: usd(spent_usd) ?? 0, crossed_at },
});

const rowsOf = (budgets: readonly PeriodBudget[]): SQL =>
  sql`json_to_recordset(${jsonText(budgets)}::json) as r (budget text, project text, period text, limit_usd numeric)`;

/** `b`: each budget with the period that is open, and so many before it. */
const periods = (budgets: readonly PeriodBudget[], before: number): SQL => sql`
  (select r.budget, r.project, r.period, r.limit_usd,
          (date_trunc(r.period, now() at time zone 'UTC') - n.back * ('1 ' || r.period)::interval)::date as period_start
     from ${rowsOf(budgets)}, generate_series(0, ${before}::integer) as n (back)) b`;

/** The moment after the period of `b`, in UTC. */
const ENDS = sql`b.period_start + ('1 ' || b.period)::interval`;

const WITHIN = sql`x.day >= b.period_start and x.day < ${ENDS}`;

/**
 * Deleted and removed sessions are counted too: what they cost has been spent. While a session is being removed, all of it is in
 * `removed_spend`, and less and less in the totals by day: its cells, which are what the totals still have of it, are taken away.
 */
const SPENT = sql`
  (select coalesce((select sum(x.cost_usd) from svc.stat_days x where ${WITHIN} and (b.project is null or x.project = b.project)), 0)
        + coalesce((select sum(x.cost_usd) from svc.removed_spend x
                     where ${WITHIN} and (b.project is null or x.project_digest = svc.project_digest(b.project))), 0)
        - coalesce((select sum(x.cost_usd) from svc.session_removals m join svc.stat_cells x on x.session_id = m.session_id
                     where ${WITHIN} and (b.project is null or x.project = b.project)), 0) as usd) spent`;

/** Records since when each budget has had its limit. */
const watch = (tx: Sql, budgets: readonly PeriodBudget[]) =>
  tx.rows(sql`
    insert into svc.watched_budgets (budget, limit_usd)
    select r.budget, r.limit_usd from ${rowsOf(budgets)}
     where not exists (select from svc.watched_budgets k where k.budget = r.budget and k.limit_usd = r.limit_usd)
     order by 1, 2
    on conflict (budget, limit_usd) do nothing`);

/** Forgets budgets that are configured no more: one that is configured again later is watched from then on. */
export async function forgetBudgets(db: Sql, { budgets }: { budgets: PeriodBudget[] }): Promise<null> {
  await db.rows(sql`
    delete from svc.watched_budgets w
     where not exists (select from ${rowsOf(budgets)} where r.budget = w.budget and r.limit_usd = w.limit_usd)`);
  return null;
}

/** Of the open period it holds after `watch`. */
const IS_WATCHED = sql`
  exists (select from svc.watched_budgets w
           where w.budget = b.budget and w.limit_usd = b.limit_usd and w.since at time zone 'UTC' < ${ENDS})`;

/**
 * Stores the crossings that are new: a budget whose period has spent more than its limit, unless any process stored it already. The period
 * before the open one is looked at too, since calls are stored and derived after they were made, for hours where a service was stopped: but
 * only where the budget was watched, with this limit, before that period ended.
 * @returns those that this call stored
 */
export const crossBudgets = (
  db: Sql,
  { budgets, webhook }: { budgets: PeriodBudget[]; webhook: boolean },
): Promise<StoredCrossing[]> =>
  db.transaction(async (tx) => {
    await watch(tx, budgets);
    const crossed = sql`
      select b.budget, b.project, b.period, b.period_start, b.limit_usd, spent.usd as spent_usd
        from ${periods(budgets, 1)}, lateral ${SPENT}
       where spent.usd > b.limit_usd and ${IS_WATCHED}
         and not exists (select 1 from svc.budget_crossings c where c.budget = b.budget and c.period_start = b.period_start)`;
    if ((await tx.rows(crossed)).length === 0) return [];
    // Ids are in the order of commits, so that a reader of events who has seen one has seen all before it.
    await tx.rows(sql`lock table svc.budget_crossings in share row exclusive mode`);
    const rows = await tx.rows<CrossingRow>(sql`
      insert into svc.budget_crossings (budget, project, period, period_start, limit_usd, spent_usd, crossed_at, delivery)
      select n.*, clock_timestamp(), ${webhook ? 'pending' : 'none'}::text from (${crossed}) n
      on conflict (budget, period_start) do nothing
      returning ${COLUMNS}`);
    return rows.map(stored);
  });

/** The crossings after that id, oldest first. */
export const crossingsAfter = async (
  db: Sql,
  { after, limit }: { after: number; limit: number },
): Promise<StoredCrossing[]> =>
  (
    await db.rows<CrossingRow>(sql`
      select ${COLUMNS} from svc.budget_crossings where crossing_id > ${after} order by crossing_id limit ${limit}`)
  ).map(stored);

/** The id of the newest crossing; 0: there is none. */
export async function lastCrossing(db: Sql, _args: Record<string, never>): Promise<number> {
  const [row] = await db.rows<{ last: number }>(sql`
    select coalesce(max(crossing_id), 0)::bigint as last from svc.budget_crossings`);
  return row?.last ?? 0;
}

/** Takes the next delivery that is due, for `ms`: whoever takes it and dies leaves it to others after that. Null: none is due. */
export async function takeDelivery(
  db: Sql,
  { ms }: { ms: number },
): Promise<{ crossing: StoredCrossing; attempts: number; seconds_old: number } | null> {
  const [row] = await db.rows<CrossingRow & { attempts: number; seconds_old: number }>(sql`
    update svc.budget_crossings set attempts = attempts + 1, try_after = now() + make_interval(secs => ${ms / 1000}::double precision)
     where crossing_id = (select c.crossing_id from svc.budget_crossings c
                           where c.delivery = 'pending' and c.try_after <= now()
                           order by c.crossing_id limit 1 for update skip locked)
    returning ${COLUMNS}, attempts, extract(epoch from now() - crossed_at)::double precision as seconds_old`);
  return row ? { crossing: stored(row), attempts: row.attempts, seconds_old: row.seconds_old } : null;
}

/** @param error null: it was delivered @param again_ms when it is tried again; null: never */
export async function endDelivery(
  db: Sql,
  { crossing_id, error, again_ms }: { crossing_id: number; error: string | null; again_ms: number | null },
): Promise<null> {
  const delivery = error === null ? 'delivered' : again_ms === null ? 'failed' : 'pending';
  await db.rows(sql`
    update svc.budget_crossings
       set delivery = ${delivery}, error = ${error}, delivered_at = case when ${error === null}::boolean then now() end,
           try_after = now() + make_interval(secs => ${(again_ms ?? 0) / 1000}::double precision)
     where crossing_id = ${crossing_id}`);
  return null;
}

type StateRow = Omit<BudgetState, 'project' | 'limit_usd' | 'spent_usd' | 'crossed_at' | 'delivery'> & {
  project: string | null;
  limit_usd: string;
  spent_usd: string;
  crossed_at: string | null;
  delivery: NonNullable<BudgetState['delivery']> | null;
};

/** Each budget's current period. Its crossing is left out where the limit was lower then: the present one may not be exceeded. */
export async function budgetStates(db: Sql, { budgets }: { budgets: PeriodBudget[] }): Promise<BudgetState[]> {
  const rows = await db.rows<StateRow>(sql`
    select b.budget, b.project, b.period, b.period_start::text as period_start, b.limit_usd, spent.usd as spent_usd,
           ${sql.raw(instantText('c.crossed_at'))} as crossed_at, c.delivery
      from ${periods(budgets, 0)}
      left join svc.budget_crossings c
             on c.budget = b.budget and c.period_start = b.period_start and c.limit_usd >= b.limit_usd, lateral ${SPENT}
     order by b.project nulls first, b.period, b.budget`);
  return rows.map(({ budget, project, period, period_start, limit_usd, spent_usd, crossed_at, delivery }) => ({
    budget,
    ...(project !== null && { project }),
    ...{ period, period_start, limit_usd: usd(limit_usd) ?? 0, spent_usd: usd(spent_usd) ?? 0 },
    ...(crossed_at !== null && { crossed_at }),
    ...(delivery !== null && { delivery }),
  }));
}
