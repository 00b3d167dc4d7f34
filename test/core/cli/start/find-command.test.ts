/** Is a command found as a shell finds it? */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { commandState } from '../../../../core/cli/start/find-command.ts';
import { runChild } from '../../../../core/cli/start/run-child.ts';

const test = suite('commands of svc start');
const folder = mkdtempSync(join(tmpdir(), 'svc-command-'));
const PATH = `${join(folder, 'first')}:second`;
test.before(() => {
  for (const name of ['first', 'second']) mkdirSync(join(folder, name));
  mkdirSync(join(folder, 'first/tool'));
  writeFileSync(join(folder, 'first/both'), '', { mode: 0o644 });
  writeFileSync(join(folder, 'second/both'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(folder, 'second/text'), '#!/bin/sh\n', { mode: 0o644 });
});
test.after(() => rmSync(folder, { recursive: true, force: true }));
const state = (command: string) => commandState(command, { PATH }, folder);

test('a file that may not be executed is passed over for one that may, and else is named as that', () => {
  assert.equal(['both', 'text', 'tool', 'none'].map(state), ['found', 'no-permission', 'missing', 'missing']);
  assert.equal(['second/both', './second/text', 'first/tool', './none'].map(state), [
    'found',
    'no-permission',
    'missing',
    'missing',
  ]);
});

test('the system finds the same as it starts the command', async () => {
  const env = { PATH: `${join(folder, 'first')}:${join(folder, 'second')}` };
  const status = async (command: string) => (await runChild({ command, args: [], env, cwd: folder })).status;
  assert.equal([await status('./second/text'), await status('./none'), await status('both')], [126, 127, 0]);
});

test.run();
