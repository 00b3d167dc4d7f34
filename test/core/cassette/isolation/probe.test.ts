import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { commandFor, findSystemSupport, type SystemSupport } from '../../../../core/cassette/isolation/confinement.ts';
import { emptyFolder, pidsOf } from '../../../support/started-cassette.ts';

const test = suite('probe of the confinement');

/** NaN: the process has ended. */
function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return Number.NaN;
  }
}

/** Kills the first process of the probe that works in this folder, as the kernel does when memory is short. */
function killFirstIn(tmp: string): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (readdirSync(tmp).length === 0) return;
      const child = pidsOf(tmp).find((pid) => parentOf(pid) === process.pid);
      if (child === undefined) return;
      clearInterval(timer);
      process.kill(child, 'SIGKILL');
      resolve();
    }, 1);
  });
}

function jailWorks(support: SystemSupport): boolean {
  const root = emptyFolder();
  const run = ['-p', '1 + 1'];
  const jail = { ...support, wall: 'jail' as const, network: false, root, readable: [root], memory_mb: 64, run };
  const { file, args, env } = commandFor(jail);
  return spawnSync(file, args, { env, encoding: 'utf8' }).stdout.trim() === '2';
}

if (process.platform === 'linux')
  test('a wall whose try was killed is tried again by the next probe; what is found then stays', async () => {
    const tmp = emptyFolder();
    const killed = killFirstIn(tmp);
    const first = await findSystemSupport(tmp);
    await killed;
    const next = await findSystemSupport(tmp);
    assert.is.not(first.wall, 'jail');
    assert.is(next.wall === 'jail', jailWorks(next), 'whether the jail works is found');
    assert.is(await findSystemSupport(tmp), next, 'without another probe');
  });

test.run();
