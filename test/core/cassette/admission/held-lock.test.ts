/** Another process that migrates a cassette's database for long: whoever waits for it says so, and not that the database is away. */
import { sql } from 'drizzle-orm';
import * as assert from 'uvu/assert';
import exporter from '../../../../cassettes/export/cassette.ts';
import { openPool } from '../../../../core/db/client/server.ts';
import type { Database } from '../../../../core/db/database.ts';
import { cassettesOf, refusal } from '../../../support/cassette-database.ts';
import { standCassette } from '../../../support/cassette-stand.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';

const WAIT_MS = 300;
const MIGRATING = 'another process is migrating the database of this cassette (55P03)';
const LOCKS = {
  migration: sql`select pg_advisory_xact_lock(820144730, hashtext('export'))`,
  provision: sql`select pg_advisory_xact_lock(8201447304118393)`,
};

databaseSuite('admission while another process holds the lock', (test, database) => {
  /** The same database, of which a statement may take `WAIT_MS`. */
  const hurried = (): TestDatabase => {
    const execute: Database['execute'] = (name, args, options) =>
      database().execute(name, args, { ...options, limitMs: WAIT_MS });
    return { ...database(), execute };
  };

  /** Runs the work while another connection holds the lock. */
  const whileHeld = async (lock: keyof typeof LOCKS, work: (release: () => void) => Promise<void>) => {
    const pool = openPool({ dsn: database().dsn ?? '', pooled: false, size: 1 });
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let taken = () => {};
    const held = new Promise<void>((resolve) => {
      taken = resolve;
    });
    const holder = pool.sqlFor(60_000).transaction(async (tx) => {
      await tx.rows(LOCKS[lock]);
      taken();
      await released;
    });
    try {
      await Promise.race([held, holder]);
      await work(release);
    } finally {
      release();
      await holder;
      await pool.close();
    }
  };

  const onServer = (name: string, work: () => Promise<void>) =>
    test(name, async () => {
      if (database().kind === 'server') await work(); // one process has the embedded database
    });

  onServer('it is refused with that as the reason, and admitted once the other is ready', () =>
    whileHeld('migration', async (release) => {
      const stand = await standCassette(hurried(), { folder: 'export', manifest: exporter.manifest });
      try {
        assert.is(stand.shown()?.trouble?.reason, `Cannot make its schema: ${MIGRATING}`);
        release();
        await eventually(() => stand.shown()?.state === 'admitted');
      } finally {
        await stand.close();
      }
    }),
  );

  onServer('so it is of the migrations themselves, and of the grants of any cassette', async () => {
    const cassettes = cassettesOf(hurried());
    const provision = () => cassettes.provision({ name: 'export', views: [], extensions: [], migrations: [] });
    const migrate = () => cassettes.migrate('export', [{ name: '1', sql: 'create table a ()' }]);
    try {
      await whileHeld('migration', async () => {
        for (const work of [provision, migrate]) {
          const { sqlstate, transient, message } = await refusal(work());
          assert.equal([sqlstate, transient, message], ['55P03', true, `Cannot run a statement: ${MIGRATING}`]);
        }
      });
      await whileHeld('provision', async () => {
        const { sqlstate, message } = await refusal(provision());
        assert.is(sqlstate, '55P03');
        assert.match(message, /another process is making the database of a cassette/);
      });
    } finally {
      await cassettes.close();
    }
  });
});
