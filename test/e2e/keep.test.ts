/** The record is kept as an operator does it: seeded, verified, backed up, searched for a text, purged, restored; beside the service that runs. */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { filesHolding } from '../support/files-holding.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import type { Json } from '../support/read-api.ts';
import { eventually, removeFolder, type Service, startService, svc } from '../support/serve.ts';

const test = suite('keeping the record');
const TOKEN = { SVC_API_TOKEN: 'full-QXJnb24', SVC_API_READ_TOKEN: 'read-QXJnb24' };
const WORD = 'zweiundvierzigtausend-QXJnb24';

let service: Service;
let other: string;
const folders: string[] = [];

const run = async (folder: string, ...args: string[]) => svc(folder, args, TOKEN);
const done = async (folder: string, ...args: string[]): Promise<Json> => {
  const { status, out, err } = await run(folder, ...args, '--json');
  assert.is(status, 0, err);
  return JSON.parse(out);
};
const get = async (path: string, token = TOKEN.SVC_API_TOKEN) =>
  fetch(`${service.api}${path}`, { headers: { authorization: `Bearer ${token}` } });

test.before(async () => {
  const folder = await folderWithDatabase();
  other = await folderWithDatabase();
  folders.push(folder, other);
  service = await startService(folder, TOKEN);
});
test.after(async () => {
  await service?.stop();
  for (const folder of folders) await removeFolder(folder);
});

test('the demo is added once, and the service verifies what it alone has open', async () => {
  assert.is((await done(service.folder, 'seed')).raw_turns_inserted, 98);
  assert.match((await run(service.folder, 'seed')).out, /were there already/);
  await fetch(`${service.ingest}/v1/ingest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      provider: 'openai',
      request: { body: { model: 'gpt-5', messages: [{ role: 'user', content: `Remember ${WORD}` }] } },
      response: { status: 200, body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Yes' } }] } },
    }),
  });
  const text = await run(service.folder, 'verify');
  assert.match(text.out, /^Checked 1[23] sessions, 9[89] turns, .*: all as written\n$/);
  assert.is(text.status, 0, text.err);
});

test('the second token reads, and nothing else', async () => {
  assert.is((await get('/v1/sessions', TOKEN.SVC_API_READ_TOKEN)).status, 200);
  for (const path of ['/v1/admin/backup', '/v1/admin/backup?'])
    assert.is((await get(path, TOKEN.SVC_API_READ_TOKEN)).status, 403, path);
  const seeded = await svc(service.folder, ['seed'], { SVC_API_TOKEN: TOKEN.SVC_API_READ_TOKEN });
  assert.equal([seeded.status, /it reads, and changes nothing/.test(seeded.err)], [1, true], seeded.err);
  const shown = await run(service.folder, 'token');
  assert.match(shown.out, /api\.read_token +set by a variable/);
  assert.not.match(shown.out, 'QXJnb24');
});

test('a backup that the service makes while it runs is restored elsewhere, and reads the same', async () => {
  // what was posted is derived a moment after it is stored, and a backup has what there is
  await eventually('all to be derived', async () => {
    const { derive } = (await (await get('/v1/admin/status')).json()) as Json;
    return derive.queued === 0;
  });
  const file = join(other, 'backup');
  const made = await done(service.folder, 'backup', '-o', file);
  assert.ok(made.rows['svc.raw_turns'] >= 98);
  const restored = await done(other, 'restore', file);
  assert.equal([restored.verified.broken_sessions, restored.underived_sessions], [0, 0]);
  const [here, there] = [await done(service.folder, 'verify'), await done(other, 'verify')];
  assert.equal(there, here, 'the service has verified its own, and the command the other');
  const taken = await run(service.folder, 'restore', file);
  assert.equal([taken.status, /process \d+ has used it/.test(taken.err)], [1, true], taken.err);
});

test('a text is found, and gone from every file of the database once it is confirmed', async () => {
  const found = await done(service.folder, 'forget', WORD, '--dry-run');
  assert.equal(
    found.found.sessions.map(({ raw_turns }: Json) => raw_turns),
    [1],
  );
  const unconfirmed = await run(service.folder, 'forget', WORD);
  assert.equal([unconfirmed.status, /--yes does it without asking/.test(unconfirmed.err)], [2, true]);
  assert.match(unconfirmed.err, /Others on this machine can see arguments/);
  const receipt = await done(service.folder, 'forget', WORD, '--yes');
  assert.equal([receipt.purged[0].raw_turns, receipt.left.sessions, receipt.purged[0].rewritten], [1, [], true]);
  assert.equal(filesHolding(join(service.folder, '.svc', 'data'), WORD), []);
  assert.match((await run(service.folder, 'forget', WORD, '--yes')).out, /^It stands nowhere\n$/);
});

test('sessions are purged by id and time, after a look at what would go', async () => {
  const would = await run(service.folder, 'purge', '--before', '2100-01-01', '--dry-run');
  assert.match(would.out, /Would remove 12 sessions with 98 turns\n$/);
  assert.is((await run(service.folder, 'purge')).status, 2);
  const { items } = (await (await get('/v1/sessions?limit=1')).json()) as Json;
  const { sessions } = await done(service.folder, 'purge', '--session', items[0].id.slice(0, 8), '--yes');
  assert.equal([sessions.length, sessions[0].session_id], [1, items[0].id]);
  assert.is((await get(`/v1/sessions/${items[0].id}`)).status, 404);
  assert.match((await run(service.folder, 'verify')).out, /purged, with tombstones: all as written\n$/);
});

test.run();
