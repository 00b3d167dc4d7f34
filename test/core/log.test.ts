/**
 * What is logged: a credential in it does not reach stderr, as a message, in an error, in a field, in a URL; and a stderr that is a file
 * on a full disk ends nothing.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile, rm, truncate } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newFolder } from '../support/journal-calls.ts';
import { KEPT_WORD, leaksIn, linesAt } from '../support/planted-credentials.ts';

const test = suite('log');
const root = resolve(import.meta.dirname, '../..');

const SCRIPT = `
import { openLog } from '${root}/core/log.ts';
const log = openLog('trace');
const lines = JSON.parse(process.argv[1]);
for (const line of lines) {
  log.info(line);
  log.child({ part: 'x' }).error({ err: new Error('Cannot go on:\\n' + line) }, 'it failed');
  log.warn({ fields: { reason: 'a ' + line, lines: [line] } }, '${KEPT_WORD}');
}`;

test('no credential of a head, a URL or an ingested document reaches stderr', async () => {
  const lines = [
    ...[...linesAt('request'), ...linesAt('answer')],
    ...linesAt('query').map((line) => `GET /v1/messages?beta=true&${line} failed`),
    ...linesAt('fragment').map((line) => `https://h/cb#${line}`),
    ...linesAt('settings').map((line) => `the proxy ${line}127.0.0.1:9 refused`),
  ].filter((line) => !/^x-(svc-|auth-info)/i.test(line)); // told by what only the name of a header allows for
  const args = ['--import', 'tsx', '--input-type=module', '-e', SCRIPT, JSON.stringify(lines)];
  const { stderr } = await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  const logged = stderr.trimEnd().split('\n');
  assert.is(logged.length, lines.length * 3);
  for (const line of logged) JSON.parse(line);
  assert.ok(stderr.includes(KEPT_WORD) && stderr.includes('files.example/x?page=7&'));
  assert.equal(leaksIn(Buffer.from(stderr)), []);
});

const JOURNAL = `
import { openJournal } from '${root}/core/capture/journal.ts';
import { openLog } from '${root}/core/log.ts';
import { opened } from '${root}/test/support/journal-calls.ts';
let refused = 0;
const write = async () => {
  refused += 1;
  throw Object.assign(new Error('full'), { code: 'ENOSPC' });
};
const log = openLog('info');
const journal = await openJournal({ folder: process.argv[1], maxBytes: 1e9, pendingBytes: 1e7, log, write });
journal.open(opened('a'));
await journal.flush();
log.fatal('the last line');
await new Promise((done) => setTimeout(done, 300)); // an unhandled rejection would have ended it
console.log(refused > 0 && journal.open(opened('b')) !== undefined ? 'goes on' : 'nothing was refused');
process.exit(0);`;

test('a full disk under journal and stderr ends no process', async () => {
  const folder = newFolder();
  const full = openSync('/dev/full', 'w');
  const args = ['--import', 'tsx', '--input-type=module', '-e', JOURNAL, join(folder, 'journal')];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', full] });
  let out = '';
  child.stdout?.on('data', (bytes: Buffer) => {
    out += bytes;
  });
  const [status] = await once(child, 'close');
  assert.equal({ status, out: out.trim() }, { status: 0, out: 'goes on' });
  await rm(folder, { recursive: true });
});

const LINES = `
import { createInterface } from 'node:readline';
import { openLog } from '${root}/core/log.ts';
const log = openLog('info');
for await (const line of createInterface(process.stdin)) {
  log.info(line + ' ' + 'x'.repeat(300));
  console.log(line);
}`;

test('a log file without room loses the lines of that time alone, and the next line stands by itself', async () => {
  const folder = newFolder();
  const file = join(folder, 'service.log');
  const args = ['--import', 'tsx', '--input-type=module', '-e', LINES];
  // files of at most 1 or 2 KiB, depending on the shell's unit: a write beyond that is EFBIG, after as much of it as there is room for
  const child = spawn('sh', ['-c', 'ulimit -f 2; exec "$0" "$@"', process.execPath, ...args], {
    ...{ cwd: root, stdio: ['pipe', 'pipe', openSync(file, 'a')] },
  });
  const { stdin, stdout } = child;
  assert.ok(stdin && stdout);
  const done = createInterface(stdout)[Symbol.asyncIterator]();
  const log = async (line: string) => {
    stdin.write(`${line}\n`);
    assert.is((await done.next()).value, line);
  };
  for (const line of ['a', 'b', 'c', 'd', 'e', 'f']) await log(line);
  const before = await readFile(file, 'utf8');
  assert.ok(
    before.includes('"a x') && !before.includes('"f x') && !before.endsWith('\n'),
    'it became full within a line',
  );
  await truncate(file, 0);
  await log('g');
  await log('h');
  stdin.end();
  await once(child, 'close');
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  assert.equal(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg[0]),
    ['g', 'h'],
  );
  await rm(folder, { recursive: true });
});

test.run();
