import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { holderOf, lockFolder } from '../../../../core/db/client/folder-lock.ts';
import { OperatorError } from '../../../../core/errors.ts';

const test = suite('folder-lock');
let folder: string;
test.before.each(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'svc-test-')), '.svc');
});
test.after.each(() => rm(join(folder, '..'), { recursive: true, force: true }));

/** A process that locks the folder, beside the leader if it has one, says how that went, and ends when its stdin does. */
const locker = (leader = '') => {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', new URL('../../../support/lock-and-wait.ts', import.meta.url).pathname, folder, leader],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const output = new Promise<string>((resolve) => child.stdout.once('data', (text) => resolve(String(text).trim())));
  return { child, output, ended };
};

/** All but what keeps the folder out of git. */
const isClaim = (name: string) => name !== '.gitignore';
const claims = async () => (await readdir(folder)).filter(isClaim);

test('makes the folder for its owner alone and out of git, and leaves nothing else in it', async () => {
  const unlock = await lockFolder(folder);
  assert.is((await stat(folder)).mode & 0o777, 0o700);
  assert.is((await claims()).length, 1);
  await unlock();
  assert.equal(await readdir(folder), ['.gitignore']);
  assert.is(await readFile(join(folder, '.gitignore'), 'utf8'), '*\n');
});

test('a living holder is named, with what to do', async () => {
  const unlock = await lockFolder(folder);
  const error = await lockFolder(folder).catch((thrown: unknown) => thrown);
  assert.instance(error, OperatorError);
  assert.match((error as Error).message, new RegExp(`process ${process.pid} has used it since 2.*; stop that process`));
  await unlock();
  await (await lockFolder(folder))();
});

test('what a killed process held is taken over at once', async () => {
  const { child, output, ended } = locker();
  assert.is(await output, 'locked');
  const error = await lockFolder(folder).catch((thrown: Error) => thrown);
  assert.match(String(error), new RegExp(`process ${child.pid} has used it`));
  child.kill('SIGKILL');
  await ended;
  const unlock = await lockFolder(folder);
  assert.is((await claims()).length, 1, 'the dead claim is removed');
  await unlock();
});

test('a process beside its leader holds the folder after the leader was killed, and is waited for', async () => {
  const leader = locker();
  assert.is(await leader.output, 'locked');
  const member = locker(String(leader.child.pid));
  assert.is(await member.output, 'locked');
  assert.is(holderOf(folder), leader.child.pid, 'the group is known by its leader');
  const refusal = await lockFolder(folder).catch((thrown: Error) => thrown);
  assert.match(String(refusal), new RegExp(`process ${leader.child.pid} has used it`));

  leader.child.kill('SIGKILL');
  await leader.ended;
  let locked = false;
  const next = lockFolder(folder).then((unlock) => {
    locked = true;
    return unlock;
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.not(locked, 'what the leader has started still uses it');
  member.child.stdin.end();
  await member.ended;
  await (await next)();
});

test('a pid in use again, an earlier boot and a torn claim hold nothing', async () => {
  const unlock = await lockFolder(folder);
  const [name = ''] = await claims();
  const claim = JSON.parse(await readFile(join(folder, name), 'utf8')) as Record<string, unknown>;
  await unlock();
  const stale = [JSON.stringify({ ...claim, started: '1' }), JSON.stringify({ ...claim, boot: 'before' }), ''];
  for (const [i, text] of stale.entries()) {
    await writeFile(join(folder, `lock.0000000${i}-0000-4000-8000-000000000000`), text);
  }
  await writeFile(join(folder, 'config.toml'), '');
  await (await lockFolder(folder))();
  assert.equal(await claims(), ['config.toml']);
});

test('of processes that start at once never two get it', async () => {
  await mkdir(folder);
  const lockers = Array.from({ length: 6 }, locker);
  const outputs = await Promise.all(lockers.map((each) => each.output));
  assert.ok(outputs.filter((word) => word === 'locked').length <= 1, outputs.join());
  for (const { child } of lockers) child.stdin.end();
  await Promise.all(lockers.map((each) => each.ended));
});

test('of attempts that start at once never two get it, and one does in the end', async () => {
  for (let round = 0; round < 30; round += 1) {
    const won = (await Promise.allSettled(Array.from({ length: 5 }, () => lockFolder(folder)))).filter(
      (result) => result.status === 'fulfilled',
    );
    assert.ok(won.length <= 1);
    for (const { value: unlock } of won) await unlock();
  }
  await (await lockFolder(folder))();
});

test('no attempt takes a name that an earlier one has withdrawn, since others may be about to remove it', async () => {
  const unlock = await lockFolder(folder);
  const [held] = readdirSync(folder).filter(isClaim);
  const names = new Set<string>();
  let trying = true;
  const attempt = lockFolder(folder).catch(() => {
    trying = false;
  });
  let present = false; // a claim is there, then withdrawn, then there again
  let claims = 0;
  while (trying) {
    const others = readdirSync(folder).filter((name) => isClaim(name) && name !== held && !name.endsWith('.new'));
    if (others.length > 0 && !present) claims += 1;
    present = others.length > 0;
    for (const name of others) names.add(name);
    await new Promise(setImmediate);
  }
  await attempt;
  assert.ok(claims > 1, `${claims} attempts seen`);
  assert.ok(names.size >= claims, `${names.size} names in ${claims} attempts`);
  await unlock();
});

test.run();
