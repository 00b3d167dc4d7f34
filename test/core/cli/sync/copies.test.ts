/** Several files of one transcript: only the newest is sent, whatever the others are called; a file of another session always is. */
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { transcriptSources } from '../../../../core/cli/sync/harness/sources.ts';
import { findTranscripts } from '../../../../core/cli/sync/sweep.ts';

type Context = { home: string };
const test = suite<Context>('copies of transcripts');

test.before.each(async (context) => {
  context.home = await mkdtemp(join(tmpdir(), 'svc-copies-'));
});
test.after.each(({ home }) => rm(home, { recursive: true }));

/** A file with that time of change. */
const put = async (home: string, path: string, day: number, content: string) => {
  const file = join(home, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  await utimes(file, new Date(Date.UTC(2026, 10, day)), new Date(Date.UTC(2026, 10, day)));
};
const jsonLines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** The paths below the home that are sent, and those that are older copies. */
async function swept(home: string) {
  const files = await findTranscripts(transcriptSources, { env: {}, home }, 0);
  const paths = (isCopy: boolean) =>
    files.filter((file) => (file.isCopy ?? false) === isCopy).map(({ path }) => path.slice(home.length + 1));
  return { sent: paths(false).sort(), copies: paths(true).sort() };
}

test('Gemini CLI: the document of an older version beside the file that the newer one made of it', async ({ home }) => {
  const chats = '.gemini/tmp/project/chats';
  const name = 'session-2026-11-20T10-00-0a1b2c3d';
  const session = { sessionId: '0a1b2c3d-0000-4000-8000-000000000001', projectHash: 'f00' };
  await put(home, `${chats}/${name}.json`, 1, JSON.stringify({ ...session, messages: [{ id: 'm1' }] }));
  await put(home, `${chats}/${name}.jsonl`, 2, jsonLines(session, { id: 'm1' }, { id: 'm2' }));
  const fork = { ...session, sessionId: 'another' }; // of the same minute
  await put(home, `${chats}/${name} fork.jsonl`, 1, jsonLines(fork));
  await put(home, `${chats}/${session.sessionId}/${name}.jsonl`, 1, jsonLines({ ...session, sessionId: 'agent' }));
  assert.equal(await swept(home), {
    sent: [
      `${chats}/${session.sessionId}/${name}.jsonl`,
      `${chats}/${name} fork.jsonl`,
      `${chats}/${name}.jsonl`,
    ].sort(),
    copies: [`${chats}/${name}.json`],
  });
});

test('Codex: a copy beside the rollout, and an archived one; sub-agents and forks have ids of their own', async ({
  home,
}) => {
  const [parent, child] = ['01a1fc52-a152-7cf1-9170-9c2fd0515173', '01a1fc52-a1cc-7c03-b98d-f384124bcdc0'];
  const meta = (payload: object) => jsonLines({ type: 'session_meta', payload });
  const rollout = (id: string) => `.codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-${id}`;
  await put(home, `${rollout(parent)}.jsonl`, 3, meta({ id: parent }));
  await put(home, `${rollout(parent)} (copy).jsonl`, 2, meta({ id: parent }));
  await put(home, `.codex/archived_sessions/rollout-old-${parent.toUpperCase()}.jsonl`, 1, meta({ id: parent }));
  await put(home, `${rollout(parent)}-fork.jsonl`, 1, meta({ id: child, forked_from_id: parent }));
  await put(home, `${rollout(child)}.jsonl`, 1, meta({ id: child, session_id: parent }));
  assert.equal(await swept(home), {
    sent: [`${rollout(parent)}-fork.jsonl`, `${rollout(parent)}.jsonl`, `${rollout(child)}.jsonl`].sort(),
    copies: [`.codex/archived_sessions/rollout-old-${parent.toUpperCase()}.jsonl`, `${rollout(parent)} (copy).jsonl`],
  });
});

test('pi: a backup; the newest counts also where it is the shorter one, and one without a session is none', async ({
  home,
}) => {
  const folder = '.pi/agent/sessions/--p--';
  const head = { type: 'session', id: 'pi-1' };
  await put(home, `${folder}/2026-11-20T10-00-00-000Z_pi-1.jsonl`, 2, jsonLines(head));
  await put(home, `${folder}/2026-11-20T10-00-00-000Z_pi-1.backup.jsonl`, 1, jsonLines(head, { type: 'message' }));
  await put(home, `${folder}/2026-11-20T10-00-00-000Z_pi-1.torn.jsonl`, 3, '{"type":"sess');
  await put(home, `${folder}/2026-11-20T10-00-00-000Z_pi-2.jsonl`, 1, jsonLines({ ...head, id: 'pi-2' }));
  assert.equal(await swept(home), {
    sent: ['1.jsonl', '1.torn.jsonl', '2.jsonl'].map((end) => `${folder}/2026-11-20T10-00-00-000Z_pi-${end}`),
    copies: [`${folder}/2026-11-20T10-00-00-000Z_pi-1.backup.jsonl`],
  });
});

test.run();
