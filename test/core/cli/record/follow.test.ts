/** Does `svc sessions show --follow` print what comes to a conversation, each thing once and in its order? Over a real socket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { serveApp } from '../../../../core/http/listen.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../../support/call-turn.ts';
import { svc } from '../../../support/cli-program.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { eventually } from '../../../support/eventually.ts';
import { testApi } from '../../../support/read-api.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

databaseSuite('a conversation that is followed', (test, database) => {
  test.before.each(() => database().reset());

  const store = async (...calls: Call[]): Promise<string> => {
    const turns = calls.map((call) => journalCall('s', call));
    const [session_id = ''] = await storeCalls(database(), turns);
    await deriveAll(database());
    return session_id;
  };

  type Followed = {
    /** Waits until this is printed. */
    until(text: string): Promise<unknown>;
  };

  /** What is printed from the beginning until the session is deleted, without empty lines. */
  async function followed(id: string, args: string[], work: (followed: Followed) => Promise<void>): Promise<string[]> {
    const cwd = mkdtempSync(join(tmpdir(), 'svc-follow-'));
    const api = testApi({ execute: database().execute });
    const listener = await serveApp({ fetch: api.fetch, hosts: ['127.0.0.1'], port: 0, what: 'test' });
    let printed = '';
    const out = (text: string) => {
      printed += text;
    };
    try {
      const env = { SVC_CLIENT_API_TARGET: listener.addresses[0] ?? '', NO_COLOR: '1' };
      const following = svc(['sessions', 'show', id, ...args, '--follow'], { cwd, env, out });
      await work({ until: (text) => eventually(async () => printed.includes(text), 20_000) });
      await database().execute('deleteSession', { session_id: id });
      assert.equal(await following, { status: 0, out: '', err: '' });
    } finally {
      await listener.close(0);
      rmSync(cwd, { recursive: true, force: true });
    }
    return printed.split('\n').filter((line) => line.trim() !== '');
  }

  const calling = [
    toolUse('t1', 'Bash', { command: 'make' }),
    toolUse('t2', 'Read', { file_path: 'a.ts' }),
    toolUse('t3', 'Bash', { command: 'ls' }),
  ];
  const results = [toolResult('t1', 'built'), toolResult('t2', 'no such file', true), toolResult('t3', 'a b')];

  test('the results of tools come when they are there: below the tool, or with it once more', async () => {
    const id = await store({ at: 1, says: [user('Build')], answers: answer(...calling) });
    const lines = await followed(id, [], async ({ until }) => {
      await until('● Bash ls');
      await store({
        at: 2,
        says: [user('Build'), assistant(...calling), user(...results)],
        answers: answer(toolUse('t4', 'Bash', { command: 'pwd' })),
      });
      await until('Bash pwd');
      await store({
        at: 3,
        says: [
          ...[user('Build'), assistant(...calling), user(...results)],
          ...[assistant(toolUse('t4', 'Bash', { command: 'pwd' })), user(toolResult('t4', '/work'))],
        ],
        answers: answer('Done'),
      });
      await until('Done');
    });
    assert.equal(lines.slice(lines.indexOf('❯ Build')), [
      '❯ Build',
      '● Bash make',
      '● Read a.ts',
      '● Bash ls',
      '● Bash make',
      '  built',
      '✗ Read a.ts',
      '  no such file',
      '● Bash ls',
      '  a b',
      '● Bash pwd',
      '  /work',
      'Done',
    ]);
  });

  /** The call of that turn, which repeats all before it. */
  const turns = (count: number): Call => {
    const before = Array.from({ length: count - 1 }, (_, i) => [user(`prompt ${i + 1}`), assistant(`reply ${i + 1}`)]);
    return { at: count, says: [...before.flat(), user(`prompt ${count}`)], answers: answer(`reply ${count}`) };
  };
  /** The lines after the heading of the session; of each turn's heading its number. */
  const numbered = (lines: readonly string[]) => lines.map((line) => /^── (\d+) ──/.exec(line)?.[1] ?? line).slice(3);

  test('after the newest turns come newer ones alone, with their numbers', async () => {
    const id = await store(turns(1), turns(2), turns(3));
    const lines = await followed(id, ['--last', '1'], async ({ until }) => {
      await until('reply 3');
      await store(turns(4));
      await until('reply 4');
    });
    assert.equal(numbered(lines), ['3', '❯ prompt 3', 'reply 3', '4', '❯ prompt 4', 'reply 4']);
  });

  for (const args of [['--last', '1'], []])
    test(`of many turns that come at once none is left out (${args.join(' ') || 'all'})`, async () => {
      const id = await store(turns(1), turns(2));
      const lines = await followed(id, args, async ({ until }) => {
        await until('reply 2');
        await store(...[3, 4, 5, 6, 7, 8, 9].map(turns));
        await until('reply 9');
        await store(turns(10));
        await until('reply 10');
      });
      const expected = Array.from({ length: 10 }, (_, i) => [`${i + 1}`, `❯ prompt ${i + 1}`, `reply ${i + 1}`]);
      assert.equal(numbered(lines), expected.slice(args.length > 0 ? 1 : 0).flat());
    });
});
