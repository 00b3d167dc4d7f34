/** What becomes of a command whose output nobody reads any more. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFolder, removeFolder, SVC } from '../../support/serve.ts';

const test = suite('a closed output');

/** The exit status of `svc` with the pipes closed before it writes. */
async function statusOf(args: readonly string[], closed: readonly ('stdout' | 'stderr')[]): Promise<number | null> {
  const home = await emptyFolder();
  const child = spawn(process.execPath, [...SVC, ...args], {
    cwd: home,
    env: { PATH: process.env.PATH ?? '', HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const name of ['stdout', 'stderr'] as const)
    if (closed.includes(name)) child[name].destroy();
    else child[name].resume();
  const [status] = (await once(child, 'exit')) as [number | null];
  await removeFolder(home);
  return status;
}

test('a closed stderr changes nothing of what a command does', async () => {
  assert.is(await statusOf(['no-such-command'], ['stderr']), 2);
});

test('a closed stdout is no failure', async () => {
  assert.is(await statusOf(['help'], ['stdout']), 0);
});

test.run();
