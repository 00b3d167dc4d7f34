/** Connections that are reset or go silent: each query settles soon, and those after it find another connection. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { sql } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../../../core/db/client/server.ts';
import { pipelined } from '../../../../core/db/pipelined.ts';
import type { Sql } from '../../../../core/db/sql.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { startRelay } from '../../../support/tcp-relay.ts';
import { startTlsRelay, unknownIdentity } from '../../../support/tls-relay.ts';

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('connections of a server that are lost');

const ROUNDS = 60;
const QUERIES = 16;
const SETTLED_MS = 5_000;

test('a query that is sent while its connection ends is not forgotten', async () => {
  const relay = await startRelay(dsn);
  const pool = openPool({ dsn: relay.through(dsn), pooled: false, size: 4 });
  const query = () => pool.sqlFor(60_000).rows(sql`select 1 as one`);
  try {
    let slowestMs = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([query(), query(), query(), query()]); // four that are idle
      relay.reset();
      const began = performance.now();
      const sent: Promise<unknown>[] = [];
      for (let n = 0; n < QUERIES; n++) {
        sent.push(query().catch((error: unknown) => error));
        await new Promise((done) => setImmediate(done));
      }
      for (const outcome of await Promise.all(sent))
        if (outcome instanceof Error) {
          assert.instance(outcome, DatabaseError);
          assert.ok((outcome as DatabaseError).transient, outcome.message);
        }
      slowestMs = Math.max(slowestMs, performance.now() - began);
      assert.ok(slowestMs < SETTLED_MS, `round ${round}: the queries took ${Math.round(slowestMs)} ms to settle`);
    }
  } finally {
    await pool.close();
    await relay.cut();
  }
});

test('of a transaction whose connection is reset nothing stands, not even what was not sent yet', async () => {
  const relay = await startRelay(dsn);
  const direct = openPool({ dsn, pooled: false, size: 1 });
  const large = 'x'.repeat(3_000_000); // more than the socket takes at once
  try {
    await direct.sqlFor(5_000).script('drop table if exists svc_reset; create table svc_reset (what text)');
    for (const [pooled, text] of [
      [false, ''],
      [true, ''],
      [true, large],
    ] as const) {
      const pool = openPool({ dsn: relay.through(dsn), pooled, size: 1 });
      const insert = (tx: Sql, what: string) => tx.rows(sql`insert into svc_reset values (${what})`);
      const inserted = pool.sqlFor(10_000).transaction(async (tx) => {
        await insert(tx, 'first');
        setTimeout(() => relay.reset(), 200);
        await pipelined([tx.rows(sql`select pg_sleep(1), ${text}::text`), insert(tx, 'second'), insert(tx, 'third')]);
      });
      assert.match(await failureOf(inserted), 'the connection');
      assert.equal(await pool.sqlFor(5_000).rows(sql`select 1 as one`), [{ one: 1 }]);
      await new Promise((done) => setTimeout(done, 500));
      assert.equal(await direct.sqlFor(5_000).rows(sql`select what from svc_reset`), [], `${pooled} ${text.length}`);
      await pool.close();
    }
  } finally {
    await direct.sqlFor(5_000).script('drop table if exists svc_reset');
    await direct.close();
    await relay.cut();
  }
});

test('a server without TLS is recognised where TLS is to be used', async () => {
  const plain = createServer((socket) => {
    socket.once('data', () => socket.write('N') && socket.once('data', () => socket.destroy())); // as PostgreSQL does
  }).listen(0, '127.0.0.1');
  await once(plain, 'listening');
  plain.unref();
  const { port } = plain.address() as AddressInfo;
  for (const mode of ['allow', 'require', 'verify-ca', 'verify-full']) {
    const pool = openPool({ dsn: `postgres://svc@127.0.0.1:${port}/svc?sslmode=${mode}`, pooled: false, size: 1 });
    for (const query of ['first', 'second'])
      assert.match(
        await failureOf(pool.sqlFor(300).rows(sql`select ${query}::text`)),
        'Cannot ask the database: the server did not begin TLS: it offers none, or broke off',
      );
    await pool.close();
  }
  plain.close();
});

test('a certificate that is not trusted loses the connection, as an outage does, and is named', async () => {
  const relay = await startTlsRelay(dsn, unknownIdentity);
  try {
    for (const mode of ['verify-ca', 'verify-full']) {
      const pool = openPool({ dsn: relay.through(dsn, 'localhost', `sslmode=${mode}`), pooled: false, size: 1 });
      for (const query of ['first', 'second']) {
        const error = await pool
          .sqlFor(300)
          .rows(sql`select ${query}::text`)
          .catch((error: unknown) => error);
        assert.instance(error, DatabaseError);
        assert.ok((error as DatabaseError).transient);
        assert.is(
          (error as DatabaseError).message,
          "Cannot ask the database: the server's certificate is not trusted: NODE_EXTRA_CA_CERTS can name its authority (DEPTH_ZERO_SELF_SIGNED_CERT)",
        );
      }
      await pool.close();
    }
  } finally {
    await relay.close();
  }
});

test('of a DSN that the driver cannot read, each query fails', async () => {
  const pool = openPool({ dsn: 'postgres://svc:se%ret@127.0.0.1:1/db', pooled: false, size: 1 });
  for (const query of ['first', 'second'])
    assert.match(await failureOf(pool.sqlFor(300).rows(sql`select ${query}::text`)), 'URI malformed');
  await pool.close();
});

test('of statements that are sent together, the time of each begins when the one before it has its response', async () => {
  const pool = openPool({ dsn, pooled: true, size: 1, slackMs: 300 });
  const sleep = (tx: Sql) => tx.rows(sql`select pg_sleep(0.3)`);
  try {
    await pool.sqlFor(300).transaction((tx) => pipelined([sleep(tx), sleep(tx), sleep(tx), sleep(tx)]));
    const tooLong = pool.sqlFor(300).transaction((tx) => pipelined([sleep(tx), tx.rows(sql`select pg_sleep(3)`)]));
    assert.match(await failureOf(tooLong), 'no answer came in time');
  } finally {
    await pool.close();
  }
});

test('where a server goes silent, all that wait on a connection fail, and later ones get another', async () => {
  const relay = await startRelay(dsn);
  const pool = openPool({ dsn: relay.through(dsn), pooled: false, size: 1, slackMs: 200 });
  const one = (db: Sql) => db.rows<{ one: number }>(sql`select 1 as one`);
  const db = pool.sqlFor(300);
  try {
    await one(db);
    const began = performance.now();
    const silent = db.transaction((tx) => {
      relay.hold();
      return pipelined([one(tx), one(tx), one(tx)]);
    });
    assert.match(await failureOf(silent), 'no answer came in time');
    assert.ok(performance.now() - began < SETTLED_MS);
    assert.equal(await one(db), [{ one: 1 }]);
  } finally {
    await pool.close();
    await relay.cut();
  }
});

const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: Error) => error.message,
  );

if (dsn === '') console.log('skip: connections of a server that are lost: SVC_TEST_DSN is not set');
else test.run();
