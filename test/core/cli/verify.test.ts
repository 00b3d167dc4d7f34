/** `svc verify` as an operator meets it: what it prints, with which status it ends, and when it cannot look at all. */
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { VerifyOptions } from '../../../core/cli/verify.ts';
import { printVerification, verifyIn } from '../../../core/cli/verify.ts';
import { loadConfig } from '../../../core/config/load.ts';
import { OperatorError } from '../../../core/errors.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import type { Json } from '../../support/read-api.ts';
import { emptyFolder, removeFolder } from '../../support/serve.ts';

databaseSuite('svc verify', (test, database) => {
  let ids: string[] = [];
  test.before.each(async () => {
    await database().reset();
    await takeIn(database(), [
      capturedCall({ n: 1, request: chat('Hello'), response: chatAnswer('Hi') }),
      capturedCall({ n: 2, request: chat('Hello', 'Hi', 'More'), response: chatAnswer('Enough') }),
      capturedCall({ n: 3, request: chat('Another talk'), response: chatAnswer('Yes'), client: 'two' }),
    ]);
    const rows = await database().sql('select session_id from svc.sessions order by turn_count desc');
    ids = rows.map(({ session_id }) => String(session_id));
    assert.is(ids.length, 2);
  });

  const withDefaults = (options: Partial<VerifyOptions>) => ({ session: null, head: null, json: false, ...options });
  async function verify(options: Partial<VerifyOptions> = {}) {
    let out = '';
    const code = await verifyIn(database(), withDefaults(options), { out: (text) => (out += text) });
    return { code, out };
  }
  const refused = async (options: Partial<VerifyOptions>): Promise<OperatorError> => {
    const result = await verify(options).catch((error: unknown) => error);
    if (result instanceof OperatorError) return result;
    throw new Error('it is refused');
  };
  const tamper = async (statement: string) => {
    await database().sql('alter table svc.raw_turns disable trigger user');
    await database().sql(statement);
    await database().sql('alter table svc.raw_turns enable trigger user');
  };
  const headOf = async (session: string | undefined) => {
    const [row] = await database().sql(
      `select encode(head_turn_hash, 'hex') as head from svc.sessions where session_id = '${session}'`,
    );
    return String(row?.head);
  };

  test('what is in order: what was checked in a line, of one session its head to be written down', async () => {
    const all = await verify();
    assert.is(all.code, 0);
    assert.match(all.out, /^Checked 2 sessions, 3 turns, 6 messages, [\d.]+ k?B?[a-z]*: all as written\n$/);
    const head = await headOf(ids[0]);
    const one = await verify({ session: ids[0]?.toUpperCase() ?? '' });
    assert.is(one.code, 0);
    assert.match(one.out, new RegExp(`^Head of session ${ids[0]}: ${head}\nChecked 1 session, 2 turns, 4 messages, `));
  });

  test('a session by the first digits of its id, as lists show it', async () => {
    const { out } = await verify({ session: ids[0]?.slice(0, 8) ?? '' });
    assert.match(out, new RegExp(`^Head of session ${ids[0]}: `));
    assert.match((await refused({ session: '0000' })).message, "Cannot verify session '0000': there is none");
  });

  test('what is not: a line for each broken session with the first place, and status 1', async () => {
    await tamper(`update svc.raw_turns set status = 201 where session_seq = 2`);
    const { code, out } = await verify();
    assert.is(code, 1);
    assert.match(
      out,
      new RegExp(
        `^Broken: session ${ids[0]}, turn 2 \\(raw turn \\d+\\): its columns and headers do not have its turn_hash\n`,
      ),
    );
    assert.match(out, /: 1 of them broken\n$/);
    assert.not.match(out, ids[1] ?? '');
    assert.is((await verify({ session: ids[0] ?? '' })).code, 1);
    assert.is((await verify({ session: ids[1] ?? '' })).code, 0);
  });

  test('whatever was changed by hand is told with its place and with status 1', async () => {
    const three = ['Hello', 'Hi', 'More', 'Enough', 'Yet more'];
    await takeIn(database(), [
      capturedCall({ n: 4, request: chat(...three), response: chatAnswer('No') }),
      capturedCall({ n: 5, request: chat(...three, 'No', 'Please'), response: chatAnswer('Bye') }),
    ]);
    const own = `session_id = '${ids[0]}'`;
    const turn = (seq: number) => `turn ${seq} \\(raw turn \\d+\\)`;
    const flip = `update svc.slices set bytes = set_byte(bytes, 3, get_byte(bytes, 3) # 1)
                   where slice_id = (select response_slice from svc.raw_turns where ${own} and session_seq = 2)`;
    const swap = `update svc.raw_turns set session_seq = case session_seq when 2 then 1003 else 1002 end
                   where ${own} and session_seq in (2, 3)`;
    const renumber = `update svc.raw_turns set session_seq = session_seq - 1000 where ${own} and session_seq > 1000`;
    const altered = `update svc.nodes set role = 'system' where ${own} and position = 2`;
    const removed = `delete from svc.raw_turns where ${own} and session_seq = 2`;
    for (const [statements, what, back] of [
      [[flip], `${turn(2)}: slice [0-9a-f]{64} `, [flip]],
      [[swap, renumber], `${turn(2)}: its prev_hash is not the hash of turn 1`, [swap, renumber]],
      [
        [altered],
        `raw turn \\d+, node [0-9a-f]{64}: its role is not what the turn says`,
        [altered.replace('system', 'user')],
      ],
      [[removed], 'turn 2: this turn is gone, and no tombstone tells why', []],
    ] as const) {
      for (const statement of statements) await tamper(statement);
      for (const session of [null, ids[0] ?? '']) {
        const { code, out } = await verify({ session });
        assert.is(code, 1, what);
        assert.match(out, new RegExp(`^Broken: session ${ids[0]}, ${what}`, 'm'));
      }
      for (const statement of back) await tamper(statement);
      if (back.length > 0) assert.is((await verify()).code, 0, `${what}: it is as it was`);
    }
  });

  test('--json is one document with the head of each session', async () => {
    await tamper(`update svc.nodes set role = 'system' where session_id = '${ids[1]}' and position = 0`);
    const { code, out } = await verify({ json: true });
    assert.is(code, 1);
    const { sessions, total } = JSON.parse(out) as Json;
    const bySession = new Map<string, Json>(sessions.map((one: Json) => [one.session_id, one]));
    assert.is(bySession.get(ids[0] ?? '').head_turn_hash, await headOf(ids[0]));
    assert.is(bySession.get(ids[0] ?? '').breaks, 0);
    const [found] = bySession.get(ids[1] ?? '').first_breaks;
    assert.equal([found.check, found.what], ['node', 'its role is not what the turn says']);
    assert.match(found.node_hash, /^[0-9a-f]{64}$/);
    assert.equal([total.sessions, total.broken_sessions, total.turns, total.has_head], [2, 1, 3, null]);
    await database().reset();
    assert.equal((JSON.parse((await verify({ json: true })).out) as Json).sessions, []);
  });

  test('--head: a tail that was cut, with everything put right after it', async () => {
    const head = await headOf(ids[0]);
    assert.is((await verify({ head: head.toUpperCase() })).code, 0);
    assert.is((await verify({ session: ids[1] ?? '', head })).code, 1);
    for (const statement of [
      'delete from svc.nodes where raw_turn_id in (select raw_turn_id from svc.raw_turns where session_seq = 2)',
      'delete from svc.calls where raw_turn_id in (select raw_turn_id from svc.raw_turns where session_seq = 2)',
      'delete from svc.raw_turns where session_seq = 2',
      `update svc.sessions s set turn_count = 1, head_turn_hash = t.turn_hash
         from svc.raw_turns t where t.session_id = s.session_id`,
    ])
      await tamper(statement);
    assert.is((await verify()).code, 0);
    const cut = await verify({ session: ids[0] ?? '', head });
    assert.is(cut.code, 1);
    assert.match(cut.out, `Broken: head ${head} is not in this session: the turns from some point on were cut off\n`);
    assert.is((await verify({ head })).code, 1);
  });

  test('a purge and a newer reading are told, and are no break', async () => {
    await tamper(
      `insert into svc.tombstones (session_id, raw_turn_id, session_seq, prev_hash, turn_hash, reason)
       select session_id, raw_turn_id, session_seq, prev_hash, turn_hash, 'asked' from svc.raw_turns where session_id = '${ids[1]}'`,
    );
    for (const table of ['raw_turns', 'nodes', 'calls'])
      await tamper(`delete from svc.${table} where session_id = '${ids[1]}'`);
    await tamper(`delete from svc.nodes where session_id = '${ids[0]}' and position = 0`);
    await database().execute('markFromScratch', { session_id: ids[0] ?? '' });
    const all = await verify();
    assert.is(all.code, 0, all.out);
    assert.match(all.out, '1 session read otherwise by this version, which is no tampering: POST /v1/admin/derive/run');
    assert.match(all.out, '; 1 turn purged, with tombstones: all as written\n');
    assert.match((await verify({ session: ids[1] ?? '' })).out, /^1 turn purged, as a tombstone says\n/);
  });

  test('asked wrongly is status 2, a session that is not there status 1', async () => {
    assert.is((await refused({ session: 'nonsense' })).exitCode, 2);
    assert.is((await refused({ head: 'abc' })).exitCode, 2);
    const unknown = await refused({ session: '00000000-0000-4000-8000-000000000000' });
    assert.is(unknown.exitCode, 1);
    assert.is(unknown.message, "Cannot verify session '00000000-0000-4000-8000-000000000000': there is none");
  });

  /** The command from its settings on. */
  async function command(cwd: string, dsn = '') {
    const loaded = loadConfig({
      flags: { 'storage.postgres_dsn': dsn, 'log.level': 'silent' },
      env: {},
      cwd,
      home: cwd,
    });
    let out = '';
    const code = await printVerification(loaded, withDefaults({}), { out: (text) => (out += text), err: () => {} });
    return { code, out };
  }

  test('the database that the settings name is opened: the server beside others, the folder as it was left', async () => {
    const { folder, dsn } = database();
    const cwd = await emptyFolder();
    if (folder) {
      await database().execute('checkpoint', {}); // it is open to this process, so a copy is looked at
      await cp(join(folder, 'data'), join(cwd, '.svc', 'data'), { recursive: true });
    }
    const { code, out } = await command(cwd, dsn);
    assert.is(code, 0);
    assert.match(out, /^Checked 2 sessions, 3 turns, /);
    await removeFolder(cwd);
  });

  test('an embedded database that is served is not touched: who has it is told. One that is not there is not made', async () => {
    const { folder } = database();
    if (!folder) return;
    const cwd = await emptyFolder();
    const why = () =>
      command(cwd).then(
        () => assert.unreachable('it is refused'),
        (error: unknown) => error as Error,
      );
    assert.match((await why())?.message ?? '', /^Cannot verify anything: there is no database in '.*\.svc\/data'$/);
    await symlink(folder, join(cwd, '.svc'));
    const held = await why();
    assert.instance(held, OperatorError);
    const expected = new RegExp(
      `^Cannot verify anything: process ${process.pid} has the embedded database open, .* read API cannot be used`,
    );
    assert.match(held?.message ?? '', expected);
    await removeFolder(cwd);
  });
});
