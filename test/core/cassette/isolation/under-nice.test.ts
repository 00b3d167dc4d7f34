import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfinementLevel } from '../../../../core/cassette/isolation/confinement.ts';

const test = suite('under nice');
const program = fileURLToPath(new URL('../../../support/start-under-nice.ts', import.meta.url));

/** Who may raise a priority would not notice that it cannot be had. */
const UNPRIVILEGED = process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-sys_nice'] : [];

async function startedUnder(nice: number, wall?: ConfinementLevel) {
  const [file = '', ...args] = [...UNPRIVILEGED, 'nice', '-n', `${nice}`, process.execPath, '--import', 'tsx', program];
  const { stdout } = await promisify(execFile)(file, [...args, ...(wall ? [wall] : [])], { timeout: 60_000 });
  return JSON.parse(stdout) as { answer: string; own: number; cassette: number; lowered: number };
}

if (process.platform === 'linux') {
  test('a process cassette starts under `nice -n 10`, and runs below the service', async () => {
    assert.equal(await startedUnder(10), { answer: 'pong', own: 10, cassette: 15, lowered: 15 });
  });

  test('so it does without any wall but the permissions of Node', async () => {
    assert.equal(await startedUnder(10, 'permissions'), { answer: 'pong', own: 10, cassette: 15, lowered: 15 });
  });

  test('there is a lowest priority: who has it keeps it, and starts cassettes all the same', async () => {
    assert.equal(await startedUnder(19), { answer: 'pong', own: 19, cassette: 19, lowered: 19 });
  });
}

test.run();
