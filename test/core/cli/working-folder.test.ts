/** What does `svc` do in a working folder that was deleted? */
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Commands, runProgram } from '../../../core/cli/program.ts';
import '../../../core/cli/settings/version.ts'; // loaded while there is a folder, which the loader of TypeScript needs
import '../../../core/cli/start/start.ts';
import { workingFolder } from '../../../core/cli/working-folder.ts';

const test = suite('a working folder that was deleted');
const before = process.cwd();
test.before(() => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-deleted-'));
  process.chdir(folder);
  rmdirSync(folder);
});
test.after(() => process.chdir(before));

async function svcHere(...args: string[]) {
  const ran = { status: -1, out: '', err: '' };
  const io = {
    out: (text: string) => {
      ran.out += text;
    },
    err: (text: string) => {
      ran.err += text;
    },
    env: { PATH: '/bin' },
    home: tmpdir(),
    get cwd() {
      return workingFolder(); // as commands.ts has it
    },
  };
  ran.status = await runProgram({ version: '1.2.3', io, cassette: {} } as unknown as Commands, args);
  return ran;
}

test('a command that needs it says so in one sentence', async () => {
  const err = 'Cannot use the folder in which svc was called: it was deleted; change to another one\n';
  assert.equal(await svcHere('start', 'codex'), { status: 2, out: '', err });
  assert.equal(await svcHere('sessions'), { status: 2, out: '', err });
});

test('what needs none works', async () => {
  for (const args of [['version'], ['--version'], ['start', '--help']]) {
    const { status, out, err } = await svcHere(...args);
    assert.equal([status, err], [0, ''], args.join(' '));
    assert.match(out, /1\.2\.3|Usage/);
  }
});

test.run();
