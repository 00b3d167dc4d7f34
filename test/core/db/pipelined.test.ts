/** Statements that are sent together: in which order do they run, and what is left of them when one fails? */
import { sql } from 'drizzle-orm';
import * as assert from 'uvu/assert';
import { openPool } from '../../../core/db/client/server.ts';
import { pipelined } from '../../../core/db/pipelined.ts';
import type { Sql } from '../../../core/db/sql.ts';
import { DatabaseError } from '../../../core/errors.ts';
import { databaseSuite } from '../../support/databases.ts';

databaseSuite('pipelined', (test, database) => {
  /** The embedded database has no way to send several. */
  const onServer = async (work: (db: Sql) => Promise<void>) => {
    const { dsn } = database();
    if (!dsn) return;
    const pool = openPool({ dsn, pooled: false, size: 1 });
    const db = pool.sqlFor(60_000);
    try {
      await db.script('create table public.written (n integer primary key)');
      await work(db);
    } finally {
      await db.script('drop table public.written');
      await pool.close();
    }
  };
  const write = (tx: Sql, n: number) =>
    tx.rows<{ n: number }>(sql`insert into public.written values (${n}) returning n`);
  const written = async (db: Sql) =>
    (await db.rows<{ n: number }>(sql`select n from public.written order by n`)).map(({ n }) => n);
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  test('they run in the order of the list, and each has its own rows', () =>
    onServer(async (db) => {
      const counted = (tx: Sql) => tx.rows<{ n: number }>(sql`select count(*)::integer as n from public.written`);
      const results = await db.transaction((tx) => pipelined([counted(tx), write(tx, 1), null, counted(tx)]));
      assert.equal(results, [[{ n: 0 }], [{ n: 1 }], null, [{ n: 1 }]]);
    }));

  test('the error is that of the statement at fault, and nothing is written, neither before it nor after', () =>
    onServer(async (db) => {
      const both = async (tx: Sql) => {
        await write(tx, 1);
        await write(tx, 2);
        await write(tx, 3);
      };
      const failed = await failureOf(
        db.transaction((tx) => pipelined([both(tx), tx.rows(sql`select 1 / ${0}::integer`), both(tx)])),
      );
      assert.instance(failed, DatabaseError);
      assert.is((failed as DatabaseError).sqlstate, '22012');
      assert.equal(await written(db), []);
    }));

  test('an error that no statement made ends the transaction once the others have ended', () =>
    onServer(async (db) => {
      const refused = new Error('refused');
      const refuse = async (tx: Sql) => {
        await write(tx, 1);
        throw refused;
      };
      const slowly = async (tx: Sql) => {
        await tx.rows(sql`select pg_sleep(0.1)`);
        await write(tx, 2);
      };
      assert.is(await failureOf(db.transaction((tx) => pipelined([refuse(tx), slowly(tx)]))), refused);
      assert.equal(await written(db), []);
    }));
});
