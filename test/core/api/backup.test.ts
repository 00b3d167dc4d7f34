/** GET /v1/admin/backup: the whole record as one stream; what comes in or moves meanwhile is not in it, and a purge meanwhile ends it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import type { Database, OperationName } from '../../../core/db/database.ts';
import { writeBackup } from '../../../core/engine/backup/write-backup.ts';
import { exclusively } from '../../../core/engine/exclusively.ts';
import { Refusal } from '../../../core/errors.ts';
import { Problem } from '../../../core/model/problem.ts';
import { capturedCall, chat, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const PATH = '/v1/admin/backup';
const call = (n: number, name = 'talk', words = ['Hello']) =>
  capturedCall({
    n,
    request: chat(...words),
    headers: [
      ['x-svc-harness-id', 'test'],
      ['x-svc-harness-session-id', name],
    ],
  });

databaseSuite('GET /v1/admin/backup', (test, database) => {
  test.before.each(() => database().reset());

  const backup = (execute: Database['execute'] = database().execute) => testApi({ execute }).request(PATH);
  const linesIn = async (response: Response): Promise<Json[]> =>
    gunzipSync(Buffer.from(await response.arrayBuffer()))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  /** Runs `work` before the first execution of an operation. */
  const meanwhile = (operation: string, work: () => Promise<unknown>): Database['execute'] => {
    let isDone = false;
    return (async (name: OperationName, args: never, options: never) => {
      if (name === operation && !isDone) {
        isDone = true;
        await work();
      }
      return database().execute(name, args, options);
    }) as Database['execute'];
  };
  const rowsOf = (lines: Json[], table: string): Json[] => {
    const start = lines.findIndex((line) => line.table === table);
    const end = lines.findIndex((line, i) => i > start && !Array.isArray(line));
    return lines
      .slice(start + 1, end)
      .map((row) => Object.fromEntries(row.map((value: Json, i: number) => [lines[start].columns[i].name, value])));
  };

  test('a head, each table with its rows, and an end that counts them', async () => {
    await takeIn(database(), [call(1), call(2, 'other')]);
    const response = await backup();
    assert.equal([response.status, response.headers.get('content-type')], [200, 'application/gzip']);
    assert.match(response.headers.get('content-disposition') ?? '', 'svc-backup.jsonl.gz');
    const lines = await linesIn(response);
    assert.is(lines[0].svc_backup, 1);
    assert.match(lines[0].installation.identity_key, /^[0-9a-f]{64}$/);
    const end = lines.at(-1);
    assert.equal([end.rows['svc.sessions'], end.rows['svc.raw_turns'], end.lines], [2, 2, lines.length - 1]);
    assert.is(rowsOf(lines, 'svc.raw_turns').length, 2);
    assert.not.ok('svc.spans' in end.rows, 'what is derived is not in it');
  });

  test('HEAD has the same headers, and begins no backup', async () => {
    await takeIn(database(), [call(1)]);
    const executed: string[] = [];
    const execute = ((name: OperationName, args: never, options: never) => {
      executed.push(name);
      return database().execute(name, args, options);
    }) as Database['execute'];
    const head = await testApi({ execute }).request(PATH, { method: 'HEAD' });
    assert.is(head.status, 200);
    assert.is(head.headers.get('content-type'), 'application/gzip');
    assert.match(head.headers.get('content-disposition') ?? '', 'svc-backup.jsonl.gz');
    assert.is((await head.arrayBuffer()).byteLength, 0);
    assert.equal(executed, []);
  });

  test('turns that come in meanwhile are not in it, and their sessions are as they were', async () => {
    await takeIn(database(), [call(1)]);
    const [before] = await database().sql(`select encode(head_turn_hash, 'base64') as head from svc.sessions`);
    const execute = meanwhile('backupRows', () =>
      takeIn(database(), [call(2, 'talk', ['Hello', 'ok', 'More']), call(3, 'new')]),
    );
    const lines = await linesIn(await backup(execute));
    assert.is(rowsOf(lines, 'svc.raw_turns').length, 1);
    const [session, ...others] = rowsOf(lines, 'svc.sessions');
    assert.equal([others, session.turn_count, session.head_turn_hash], [[], '1', before?.head]);
  });

  for (const operation of ['backupRows', 'cassetteSchemas'])
    test(`turns that move to other sessions before '${operation}' are where they were`, async () => {
      const talk = (n: number, after: number, name?: string) =>
        capturedCall({
          ...{ n, format: 'openai.responses', headers: name === undefined ? [] : call(n, name).opened.headers },
          request: { model: 'gpt-5', input: `Question ${n}`, previous_response_id: `resp_${after}` },
          response: JSON.stringify({
            id: `resp_${n}`,
            object: 'response',
            status: 'completed',
            model: 'gpt-5',
            output: [],
          }),
        });
      await takeIn(database(), [talk(3, 2), talk(4, 3), call(1), call(5, 'other')]);
      const [turn] = await database().sql('select raw_turn_id from svc.raw_turns order by raw_turn_id desc limit 1');
      const stored = () => database().sql('select session_id, turn_count, moved_turns from svc.sessions order by 1');
      const before = await stored();
      const lines = await linesIn(
        await backup(
          meanwhile(operation, async () => {
            await takeIn(database(), [talk(2, 0, 'talk')]);
            const headers = { 'content-type': 'application/json' };
            const to = { harness_id: 'test', harness_session_id: 'made for it', reason: 'test' };
            const body = JSON.stringify({ raw_turn_id: turn?.raw_turn_id, ...to });
            const repair = '/v1/admin/raw-turns/attribution-repair';
            const api = testApi({ execute: database().execute });
            assert.ok((await api.request(repair, { method: 'POST', headers, body })).ok);
          }),
        ),
      );
      const moved = (await stored()).map(({ moved_turns }) => Number(moved_turns)).sort((a, b) => a - b);
      assert.equal(moved, [-2, -1, 1, 2], 'by a call that others wait for, and by hand');
      assert.is(lines.at(-1).end, true);
      assert.equal(rowsOf(lines, 'svc.raw_turn_corrections'), []);
      const rows = rowsOf(lines, 'svc.sessions').filter(
        ({ turn_count, emptied }) => turn_count !== '0' || emptied === 'f',
      );
      assert.equal(
        rows.map(({ session_id, turn_count, moved_turns }) => [session_id, Number(turn_count), Number(moved_turns)]),
        before.map(({ session_id, turn_count, moved_turns }) => [session_id, Number(turn_count), Number(moved_turns)]),
      );
    });

  test('a purge meanwhile leaves no backup that looks whole', async () => {
    await takeIn(database(), [call(1), call(2, 'other')]);
    const [one] = await database().sql('select session_id from svc.sessions limit 1');
    const purge = async () =>
      testApi({ execute: database().execute }).request(`/v1/admin/sessions/${one?.session_id}/purge`, {
        method: 'POST',
      });
    const response = await backup(meanwhile('cassetteSchemas', purge));
    const outcome = response.ok
      ? await linesIn(response).catch(() => 'cut')
      : Problem.parse(await response.json()).code;
    assert.ok(['cut', 'backup-broken'].includes(outcome as string), String(outcome));
  });

  /** What of the work that removes by itself can be done now. */
  const sweeps = () => {
    const signal = new AbortController().signal;
    const works = ['retention', 'gc'] as const;
    return Promise.all(works.map((work) => exclusively(database().execute, work, signal, async () => 'swept')));
  };

  test('one that fails, or that nobody reads to its end, holds up nothing afterwards, and reads nothing more', async () => {
    await takeIn(database(), [call(1)]);
    let isDone = false;
    const failing = (async (name: OperationName, args: Json, options: never) => {
      assert.not(isDone, `${name} when it has ended`);
      if (name === 'cassetteSchemas') throw new Error('lost');
      if (name === 'releaseWork' && args.work === 'retention') throw new Error('still lost');
      return database().execute(name, args as never, options);
    }) as Database['execute'];
    const readAll = async (bytes: AsyncGenerator<Uint8Array>) => {
      for await (const _ of bytes);
    };
    const error = await readAll(writeBackup({ execute: failing, version: 'x' })).catch((thrown: Error) => thrown);
    isDone = true;
    assert.equal([error?.message, await sweeps()], ['lost', [null, 'swept']]);
    await database().sql('delete from svc.work_leases');
    isDone = false;
    const bytes = writeBackup({ execute: meanwhile('cassetteSchemas', () => sleep(300)), version: 'x' });
    const first = bytes.next();
    await sleep(100);
    await Promise.all([first, bytes.return()]);
    assert.equal(await sweeps(), ['swept', 'swept']);
  });

  test('nothing is removed by itself meanwhile, and a new partition breaks nothing', async () => {
    await takeIn(database(), [call(1)]);
    const { sql } = database();
    const found: unknown[] = [];
    const lines = await linesIn(
      await backup(
        meanwhile('cassetteSchemas', async () => {
          found.push(...(await sweeps()));
          await sql('update svc.installation set partition_no = partition_no + 1, purges = purges + 1');
        }),
      ),
    );
    await sql('update svc.installation set partition_no = partition_no - 1');
    assert.equal([found, lines.at(-1).end], [[null, null], true]);
    assert.equal(await sweeps(), ['swept', 'swept']);
  });

  test('it is refused while something is removed that does not end, with the reason; a second backup is not', async () => {
    await takeIn(database(), [call(1)]);
    const { execute } = database();
    const { signal } = new AbortController();
    const bytesOf = async (waitMs: number) => {
      const chunks: Uint8Array[] = [];
      const waits = { removalsMs: waitMs, backupMs: waitMs };
      for await (const chunk of writeBackup({ execute, version: 'x', waits })) chunks.push(chunk);
      return Buffer.concat(chunks);
    };
    const refused = (work: 'retention' | 'gc') =>
      exclusively(execute, work, signal, async () => {
        try {
          return await bytesOf(10);
        } catch (error) {
          return error;
        }
      });
    for (const [work, why] of [
      ['retention', 'a sweep of retention or an older backup is under way'],
      ['gc', 'garbage is being collected'],
    ] as const) {
      const error = await refused(work);
      assert.instance(error, Refusal);
      assert.equal([(error as Refusal).code, (error as Refusal).message.includes(why)], ['backup-broken', true]);
      assert.equal(await database().sql('select work from svc.work_leases'), []);
    }
    const lines = await linesIn(await backup(meanwhile('cassetteSchemas', () => bytesOf(10))));
    assert.is(lines.at(-1).end, true);
  });

  test('a second one takes nothing that the first waits for, and one after a killed one all that is free', async () => {
    await takeIn(database(), [call(1)]);
    const { execute, sql } = database();
    const { signal } = new AbortController();
    const waits = { removalsMs: 20_000, backupMs: 300, againMs: 20 };
    const endOf = async (bytes: AsyncGenerator<Uint8Array>) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytes) chunks.push(chunk);
      return JSON.parse(gunzipSync(Buffer.concat(chunks)).toString().trimEnd().split('\n').at(-1) ?? '').end;
    };
    let first: Promise<unknown> | null = null;
    await exclusively(execute, 'retention', signal, async () => {
      first = endOf(writeBackup({ execute, version: 'x', waits }));
      await eventually(async () => (await sql("select 1 from svc.work_leases where work = 'backup'")).length === 1);
      const works = async () => (await sql('select work from svc.work_leases order by 1')).map(({ work }) => work);
      const second = meanwhile('cassetteSchemas', async () => assert.equal(await works(), ['backup', 'retention']));
      assert.is(await endOf(writeBackup({ execute: second, version: 'x', waits })), true);
    });
    assert.is(await first, true, 'it began once the sweep had ended');

    const dead = ['backup', 'retention', 'gc'].map(
      (work) => `('${work}', gen_random_uuid(), now() + interval '700 ms')`,
    );
    await sql(`insert into svc.work_leases (work, token, leased_until) values ${dead.join()}`);
    const found: unknown[] = [];
    const next = meanwhile('cassetteSchemas', async () => void found.push(...(await sweeps())));
    assert.is(
      await endOf(writeBackup({ execute: next, version: 'x', waits: { backupMs: 20_000, againMs: 20 } })),
      true,
    );
    assert.equal(found, [null, null], 'nothing is removed beside it');
  });

  test('a client that leaves while it waits ends it', async () => {
    const { execute, sql } = database();
    const leaving = new AbortController();
    await exclusively(execute, 'gc', new AbortController().signal, async () => {
      const bytes = writeBackup({ execute, version: 'x', signal: leaving.signal });
      const ended = bytes.next();
      await eventually(async () => (await sql("select 1 from svc.work_leases where work = 'backup'")).length === 1);
      leaving.abort();
      await ended;
      await bytes.return();
      assert.equal(await sql("select work from svc.work_leases where work <> 'gc'"), []);
    });
  });

  test('pages join: more rows than one holds, and more bytes', async () => {
    const long = 'x'.repeat(900_000);
    const random = () => Array.from({ length: 60_000 }, () => Math.random().toString(36).slice(2)).join('');
    await takeIn(
      database(),
      Array.from({ length: 6 }, (_, n) => call(n, `talk ${n}`, [`${n} ${random()}`, 'ok', `${long}${n}`])),
    );
    await database().sql(
      `insert into svc.coverage (day, provider, outcome, requests) select date '2020-01-01' + n, 'p', 'o', n from generate_series(1, 1200) n`,
    );
    await database().sql(
      `insert into svc.session_revisions (session_id, rev, floor) select gen_random_uuid(), 1, 1 from generate_series(1, 1201)`,
    );
    const end = (await linesIn(await backup())).at(-1);
    const [slices] = await database().sql('select count(*)::integer as n from svc.slices');
    assert.equal(
      [end.rows['svc.session_revisions'], end.rows['svc.slices'], end.rows['svc.raw_turns']],
      [1201, slices?.n, 6],
    );
  });
});
