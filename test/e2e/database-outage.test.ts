/** The database goes away while calls pass: no client notices, and afterwards every turn is there, once. (Long: `npm run soak -- outage`.) */
import { sql } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../core/db/client/server.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { databaseAway } from '../support/faults/outage.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { emptyFolder, eventually, read, removeFolder, startService } from '../support/serve.ts';

const test = suite('a database that goes away (server)');
const dsn = process.env.SVC_TEST_DSN ?? '';
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

test('calls pass, turns wait in the journal, and nothing is lost, doubled or set aside', async () => {
  const own = await emptyServerDatabase(dsn);
  const name = sql.raw(new URL(own.dsn).pathname.slice(1));
  const maintenance = openPool({ dsn, pooled: false, size: 1 });
  const run = (statement: ReturnType<typeof sql>) => maintenance.sqlFor(60_000).rows(statement);
  const cut = () =>
    run(
      sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${new URL(own.dsn).pathname.slice(1)}`,
    );
  const folder = await emptyFolder();
  const provider = await startScriptedProvider();
  const service = await startService(folder, {
    SVC_STORAGE_POSTGRES_DSN: own.dsn,
    SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url,
  });
  let sent = 0;
  let answered = 0;
  const calls: Promise<void>[] = [];
  const send = async (question: string) => {
    const response = await fetch(`${service.proxy}/anthropic/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-harness-session-id': 'outage' },
      body: JSON.stringify({
        model: 'm',
        max_tokens: 9,
        stream: true,
        messages: [{ role: 'user', content: question }],
      }),
    });
    if ((await response.text()).includes('message_stop')) answered++;
  };
  const load = setInterval(() => calls.push(send(`Question ${sent++}`)), 20);
  try {
    for (let i = 0; i < 3; i++) {
      await pause(700);
      await cut();
    }
    await run(sql`alter database ${name} with allow_connections false`);
    await cut();
    await pause(3_000);
    const down = await fetch(`${service.api}/v1/sessions`);
    assert.is(down.status, 503);
    assert.ok(down.headers.get('retry-after'));
    await run(sql`alter database ${name} with allow_connections true`);
    await pause(500);
    clearInterval(load);
    await Promise.all(calls);
    assert.is(answered, sent, 'no client noticed');

    const coverage = await eventually('every call to be booked', async () => {
      const ledger = await read<{ requests: number; outcomes: Record<string, number> }>(
        `${service.api}/v1/coverage`,
      ).catch(() => null);
      return ledger && ledger.requests >= sent && ledger;
    });
    assert.is(coverage.requests, sent);
    assert.is(coverage.outcomes.captured, sent);
    const session = await eventually('the projection', async () => {
      const { items } = await read<{ items: { raw_turn_count: number; rollup: { turn_count: number } }[] }>(
        `${service.api}/v1/sessions`,
      );
      return items[0]?.rollup.turn_count === sent && items[0];
    });
    assert.is(session.raw_turn_count, sent);
  } finally {
    clearInterval(load);
    await Promise.allSettled(calls);
    assert.is(await service.stop(), 0);
    await provider.close();
    await removeFolder(folder);
    await maintenance.close();
    await own.drop();
  }
});

test('one that cannot be reached at all for a while: what its clients heard is what is stored afterwards, byte for byte', async () => {
  await databaseAway({ cluster: dsn }, { warmMs: 500, awayMs: 3_000, afterMs: 500, perSecond: 40 });
});

if (dsn === '') console.log('skip: a database that goes away (server): SVC_TEST_DSN is not set');
else test.run();
