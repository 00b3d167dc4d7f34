import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type OpenDatabase, openDatabase } from '../../../core/db/open.ts';
import { DatabaseError } from '../../../core/errors.ts';
import { askingThread } from '../../support/asking-thread.ts';
import { embeddedDatabase, startTestThread } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';

/** Long enough for a plain statement on a loaded machine, far less than ENDLESS takes. */
const LIMIT_MS = 3000;
const ENDLESS = 'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b';

const test = suite('watchdog');
const transient = async (work: Promise<unknown>) => {
  const error = (await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as { transient?: boolean } | undefined;
  assert.is(error?.transient, true, String(error));
  return error;
};

test('a statement that never ends is ended with its thread, and all others go on', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const database = await embeddedDatabase({ statementTimeoutMs: LIMIT_MS, log });
  const thread = await askingThread(database);
  await database.sql('create table public.kept (n integer)');
  await database.sql('insert into public.kept values (1)');
  const heard: string[] = [];
  await database.listen('news', (payload) => heard.push(payload));

  const slow = transient(database.sql(ENDLESS));
  // Two threads send on their own: the first of these may still arrive before the endless one.
  const untilOneWaits = async () => {
    for (;;) await thread.ask('rawSql', { text: 'select 1', params: [] });
  };
  const behind = transient(untilOneWaits());
  assert.instance(await slow, DatabaseError);
  await behind;

  assert.equal(await database.sql('select n from public.kept'), [{ n: 1 }]);
  assert.equal(await thread.ask('rawSql', { text: 'select n from public.kept', params: [] }), [{ n: 1 }]);
  await database.sql(`select pg_notify('news', 'on')`);
  await eventually(() => heard.length === 1 && thread.heard.length === 1);
  const line = lines.find(({ operation }) => operation === 'rawSql');
  assert.ok(line && Number(line.ms) >= LIMIT_MS, JSON.stringify(lines));
  assert.not.ok(JSON.stringify(lines).includes('generate_series'));
  await thread.close();
  await database.close();
});

test('an operation that waits for itself is ended too', async () => {
  const database = await embeddedDatabase({ statementTimeoutMs: LIMIT_MS });
  const ask = database.execute as unknown as (name: string, args: unknown) => Promise<unknown>;
  await transient(ask('waitForItself', {}));
  assert.ok(await database.execute('ping', {}));
  await database.close();
});

test('a thread that dies is replaced', async () => {
  const database = await embeddedDatabase();
  const ask = database.execute as unknown as (name: string, args: unknown) => Promise<unknown>;
  for (let i = 0; i < 2; i += 1) {
    await transient(ask('die', {}));
    assert.ok(await database.execute('ping', {}));
  }
  await database.close();
});

test('a clock that jumps ahead, as after a sleep of the machine, ends nothing', async () => {
  const { now } = Date;
  let sleptMs = 0;
  Date.now = () => now() + sleptMs;
  const database = await embeddedDatabase({ statementTimeoutMs: LIMIT_MS });
  sleptMs = 3_600_000;
  try {
    const until = performance.now() + LIMIT_MS;
    while (performance.now() < until) await database.sql('select count(*) from generate_series(1, 300000)');
  } finally {
    Date.now = now;
    await database.close();
  }
});

test('closing ends what never ends', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
  const open = (): Promise<OpenDatabase> =>
    openDatabase({
      dsn: '',
      pooled: false,
      folder,
      log: pino({ level: 'silent' }),
      statementTimeoutMs: LIMIT_MS,
      startThread: startTestThread,
    });
  const database = await open();
  const ask = database.execute as unknown as (name: string, args: unknown) => Promise<unknown>;
  const slow = transient(ask('rawSql', { text: ENDLESS, params: [] }));
  await database.close();
  await slow;
  const again = await open();
  assert.ok(await again.execute('ping', {}), 'the folder is free');
  await again.close();
  await rm(folder, { recursive: true });
});
test.run();
