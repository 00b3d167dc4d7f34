/** A process for which there is no file descriptor: it is started again, and its parent lives. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('process of svc serve');
const program = fileURLToPath(new URL('../../../support/supervise-without-files.ts', import.meta.url));

test('one that cannot be started for want of descriptors is started again, and is sent what it needs', async () => {
  const line = `ulimit -n 256 && exec "$0" --import tsx "${program}"`;
  const { stdout } = await promisify(execFile)('sh', ['-c', line, process.execPath], { timeout: 60_000 });
  const { reason, received } = JSON.parse(stdout);
  assert.match(reason, /^ended with status -\d+$|^cannot be started: EMFILE$/);
  assert.is(received[0], 'beat');
});

test.run();
