/** The plan of a statement as it ran: which indexes it walked, and how many rows it read. */
import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import * as assert from 'uvu/assert';
import type { Sql } from '../../core/db/sql.ts';
import type { TestDatabase } from './databases.ts';

export type QueryPlan = {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: QueryPlan[];
};

/** How the one statement of a question ran, with its parameters in their places. */
export async function explained(database: TestDatabase, question: (db: Sql) => Promise<unknown>): Promise<QueryPlan> {
  const statements: SQL[] = [];
  const db: Sql = {
    kind: database.kind,
    rows: (statement) => {
      statements.push(statement);
      return Promise.resolve([]);
    },
    transaction: () => Promise.reject(new Error('a list is one statement')),
    script: () => Promise.reject(new Error('a list is one statement')),
  };
  await question(db);
  assert.is(statements.length, 1);
  const { sql, params } = new PgDialect().sqlToQuery(statements[0] as SQL);
  const [row] = await database.sql(`explain (analyze, timing off, format json) ${sql}`, params);
  const answer = row?.['QUERY PLAN'];
  return (typeof answer === 'string' ? JSON.parse(answer) : answer)[0].Plan;
}

export const nodesOf = (plan: QueryPlan): QueryPlan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Rows that were taken out of tables and indexes. */
export const readRows = (plan: QueryPlan): number =>
  nodesOf(plan)
    .filter((node) => /Scan/.test(node['Node Type']) && node['Node Type'] !== 'Subquery Scan')
    .reduce(
      (sum, node) => sum + node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
      0,
    );

export const shown = (plan: QueryPlan): string =>
  JSON.stringify(
    plan,
    ['Node Type', 'Index Name', 'Relation Name', 'Actual Rows', 'Actual Loops', 'Rows Removed by Filter', 'Plans'],
    1,
  );
