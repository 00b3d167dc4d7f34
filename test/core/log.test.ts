/** Whatever is logged, a credential in it does not reach stderr: as a message, in an error, in a field, in a URL. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
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

test.run();
