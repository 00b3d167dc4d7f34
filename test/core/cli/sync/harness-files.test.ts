/** Where Gemini CLI, opencode and pi leave their transcripts, and how each is named. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { geminiFiles } from '../../../../core/cli/sync/harness/gemini-files.ts';
import { opencodeFiles } from '../../../../core/cli/sync/harness/opencode-files.ts';
import { piFiles } from '../../../../core/cli/sync/harness/pi-files.ts';
import { sqliteMissing } from '../../../../core/cli/sync/sqlite.ts';
import { bytesOf, type TranscriptSource } from '../../../../core/cli/sync/transcript-source.ts';
import { geminiChat, opencodeChat, piChat } from '../../../support/other-transcripts.ts';
import type { Json } from '../../../support/read-api.ts';

type Context = { home: string };
const test = suite<Context>('files of harnesses');

test.before.each(async (context) => {
  context.home = await mkdtemp(join(tmpdir(), 'svc-files-'));
});
test.after.each(({ home }) => rm(home, { recursive: true }));

const put = async (home: string, path: string, content: string) => {
  await mkdir(join(home, path, '..'), { recursive: true });
  await writeFile(join(home, path), content);
};
const jsonLines = (records: readonly object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** All that is found: the head and the records of each, by its path below the home. */
async function found(source: TranscriptSource, home: string, env: Record<string, string> = {}) {
  const out: Record<string, { head: unknown; records: Json[] }> = {};
  for await (const one of source.find({ env, home })) {
    const records: Json[] = [];
    for await (const lines of source.lines(one))
      records.push(...lines.map((line) => JSON.parse(bytesOf(line).toString())));
    out[one.path.slice(home.length + 1)] = { head: await source.head(one), records };
  }
  return out;
}

test('Gemini CLI: sessions, sub-agents in a folder of their session, and the documents of older versions', async ({
  home,
}) => {
  const chats = '.gemini/tmp/project/chats';
  await put(home, `${chats}/session-1.jsonl`, jsonLines(geminiChat));
  await put(home, `${chats}/s1/agent.jsonl`, jsonLines([{ sessionId: 'a1', projectHash: 'f00', kind: 'subagent' }]));
  const [, , ...messages] = geminiChat;
  await put(
    home,
    `${chats}/session-0.json`,
    JSON.stringify({ sessionId: 's0', projectHash: 'f00', messages }, null, 2),
  );
  await put(home, '.gemini/tmp/project/logs.json', '[]');
  const session = (id: string) => ({ harness_id: 'gemini-cli', harness_session_id: id });
  assert.equal(await found(geminiFiles, home), {
    [`${chats}/s1/agent.jsonl`]: {
      head: { session: session('s1'), agent_id: 'a1' },
      records: [{ sessionId: 'a1', projectHash: 'f00', kind: 'subagent' }],
    },
    [`${chats}/session-0.json`]: {
      head: { session: session('s0') },
      records: [{ sessionId: 's0', projectHash: 'f00' }, ...messages],
    },
    [`${chats}/session-1.jsonl`]: { head: { session: session('s1') }, records: geminiChat },
  });
  assert.equal(await found(geminiFiles, join(home, 'elsewhere')), {});
});

test('pi: sessions by project, also where a variable says', async ({ home }) => {
  await put(home, '.pi/agent/sessions/--home-ada--/1_s1.jsonl', jsonLines(piChat));
  await put(home, 'own/sessions/--p--/2_s2.jsonl', jsonLines([{ type: 'session', id: 's2' }]));
  const session = (id: string) => ({ session: { harness_id: 'pi', harness_session_id: id } });
  const [main] = Object.values(await found(piFiles, home));
  assert.equal(main, { head: session('s1'), records: piChat });
  const [own] = Object.values(await found(piFiles, home, { PI_CODING_AGENT_DIR: join(home, 'own') }));
  assert.equal(own?.head, session('s2'));
});

test('opencode: the sessions of its database as lines; a sub-agent names its parent', async ({ home }) => {
  const folder = '.local/share/opencode';
  await mkdir(join(home, folder), { recursive: true });
  const missing = sqliteMissing();
  if (missing !== null) {
    await put(home, `${folder}/opencode.db`, 'SQLite format 3'); // .ci/run has these tests on Node 24 as well
    return assert.is(opencodeFiles.notRead?.({ env: {}, home }), missing);
  }
  const name = 'node:sqlite';
  const { DatabaseSync } = (await import(name)) as { DatabaseSync: new (path: string) => Json };
  const database = new DatabaseSync(join(home, folder, 'opencode.db'));
  database.exec(`
    create table session (id text, parent_id text, directory text, title text, version text, time_created int, time_updated int);
    create table message (id text, session_id text, time_created int, time_updated int, data text);
    create table part (id text, message_id text, session_id text, time_created int, time_updated int, data text)`);
  const [session, ...messages] = opencodeChat as Json[];
  const created = Date.parse(session.timestamp);
  const { id, directory, title, version } = session.info;
  const insert = (table: string, ...values: unknown[]) =>
    database.prepare(`insert into ${table} values (${values.map(() => '?').join(', ')})`).run(...values);
  insert('session', id, null, directory, title, version, created, created);
  insert('session', 'ses_2', id, directory, title, version, created, created);
  for (const [n, { info, parts, timestamp }] of messages.entries()) {
    const { id: messageID, sessionID: _, ...data } = info;
    insert('message', messageID, id, Date.parse(timestamp), created + n, JSON.stringify(data));
    for (const [i, part] of parts.entries())
      insert('part', `prt_${n}${i}`, messageID, id, created, created + 9_000, JSON.stringify(part));
  }
  const times = async () => {
    const all: number[] = [];
    for await (const { mtimeMs } of opencodeFiles.find({ env: {}, home })) all.push(mtimeMs);
    return all;
  };
  assert.equal(await times(), [created + 9_000, created]);
  database.exec(`update message set time_updated = ${created + 12_000} where id = 'msg_2'`); // it gets its tokens, and no new part
  assert.equal(await times(), [created + 12_000, created]);
  const lines = await found(opencodeFiles, home); // while its owner has it open
  const [main, child] = [lines[`${folder}/opencode.db#${id}`], lines[`${folder}/opencode.db#ses_2`]];
  assert.equal(main?.head, { session: { harness_id: 'opencode', harness_session_id: id } });
  assert.equal((child as Json).head.session.parent_harness_session_id, id);
  assert.equal(
    main?.records.map(({ type, timestamp, info }) => [type, timestamp, info.id]),
    opencodeChat.map((record: Json) => [record.type, record.timestamp, record.info.id]),
  );
  const tool = main?.records[2].parts[2];
  assert.equal([tool.messageID, tool.tool, tool.state.output], ['msg_2', 'bash', 'a.txt']);
  database.exec('drop table part'); // a version of opencode that keeps them otherwise
  database.close();
  const unreadable: (string | undefined)[] = [];
  for await (const one of opencodeFiles.find({ env: {}, home })) unreadable.push(one.unreadable);
  assert.equal(unreadable, ['it is no database of opencode: no such table: part']);
});

test.run();
