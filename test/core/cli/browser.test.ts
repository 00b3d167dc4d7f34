/** Does the browser get the address, and does nobody else see the token in it? With a program in the place of the system's own. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openInBrowser } from '../../../core/cli/browser.ts';

const test = suite('the browser');
let folder = '';
const path = process.env.PATH;

/** A program that notes its argument, and the file that this names. */
const PROGRAM = `#!/bin/sh
printf '%s' "$1" > "$(dirname "$0")/argument"
case "$1" in file://*) ls -l "\${1#file://}" > "$(dirname "$0")/mode"; cat "\${1#file://}" > "$(dirname "$0")/page";; esac
`;
const recorded = (name: string) => readFileSync(join(folder, name), 'utf8');
const leftOver = () => readdirSync(tmpdir()).filter((name) => name.startsWith('svc-open-page-'));

test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-browser-'));
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(join(folder, name), PROGRAM);
    chmodSync(join(folder, name), 0o755);
  }
});
test.before.each(() => {
  process.env.PATH = `${folder}:${path}`;
});
test.after.each(() => {
  process.env.PATH = path;
});
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('an address without a secret is passed as it is', async () => {
  assert.is(await openInBrowser('http://localhost:8081/', { DISPLAY: ':0' }), true);
  assert.is(recorded('argument'), 'http://localhost:8081/');
});

test('one with a secret is passed in a file that only this user reads, and that goes again', async () => {
  assert.is(await openInBrowser('http://localhost:8081/#token=a%26b', { DISPLAY: ':0' }), true);
  assert.not.match(recorded('argument'), 'token');
  assert.match(recorded('mode'), /^-rw-------/);
  assert.match(recorded('page'), 'content="0;url=http://localhost:8081/#token=a%26b"');
  assert.equal(leftOver(), []);
});

test('without a desktop nothing is opened', async () => {
  if (process.platform === 'linux') assert.is(await openInBrowser('http://localhost:8081/', {}), false);
});

test('without such a program neither', async () => {
  process.env.PATH = '/nowhere';
  assert.is(await openInBrowser('http://localhost:8081/', { DISPLAY: ':0' }), false);
});

test.run();
