import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findSystemSupport } from '../../../../core/cassette/isolation/confinement.ts';
import { emptyFolder } from '../../../support/started-cassette.ts';

const test = suite('without file descriptors');
const program = fileURLToPath(new URL('../../../support/start-without-files.ts', import.meta.url));

if (process.platform === 'linux')
  test('a start without a free file descriptor fails and is tried again; the service goes on', async () => {
    const shell = ['-c', 'ulimit -n 200; exec "$@"', 'sh', process.execPath, '--import', 'tsx', program];
    const { stdout } = await promisify(execFile)('/bin/sh', shell, { timeout: 120_000 });
    const { probed, restarted, shared } = JSON.parse(stdout);
    assert.match(probed.without, /^spawn \S+ E[MN]FILE$/, 'what is found then is no finding');
    const { wall, processors } = await findSystemSupport(emptyFolder());
    assert.equal([probed.after.wall, probed.after.processors], [wall, processors]);
    assert.equal(restarted, { reason: restarted.reason, folders: 1, answer: 'pong' });
    assert.match(restarted.reason, /^it cannot be started: spawn \S+ E[MN]FILE$/);
    assert.is(shared.answer, 200);
    assert.match(shared.reason, /its process does not start: it cannot be started: spawn \S+ E[MN]FILE$/);
  });

test.run();
