/** Connections that are reset at any moment: each query settles soon, and those after it find another connection. */
import { sql } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../../../core/db/client/server.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { startRelay } from '../../../support/tcp-relay.ts';

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('connections that are reset (server)');

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

if (dsn === '') console.log('skip: connections that are reset (server): SVC_TEST_DSN is not set');
else test.run();
