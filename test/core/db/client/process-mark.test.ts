/** Does a process that has ended count as alive, whatever has become of its pid? */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isAlive, markOf } from '../../../../core/db/client/process-mark.ts';
import { eventually } from '../../../support/eventually.ts';

const test = suite('the mark of a process');

test('a process that runs is alive; one that had its pid before, or ran before the machine started again, is not', () => {
  const mark = markOf(process.pid);
  assert.ok(isAlive(mark));
  assert.not.ok(isAlive({ ...mark, started: '1' }));
  assert.not.ok(isAlive({ ...mark, boot: 'earlier' }));
});

test('a process that has ended is not alive, though its parent has not looked at its end', async () => {
  const parent = spawn('sh', ['-c', 'sleep 0.5 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [line] = await once(parent.stdout, 'data');
    const mark = markOf(Number(String(line)));
    assert.ok(isAlive(mark));
    await eventually(() => !isAlive(mark));
    assert.is(process.kill(mark.pid, 0), true, 'its pid is still there');
  } finally {
    parent.kill();
  }
});

test.run();
