/**
 * Supervises a process whose first start finds no file descriptor left: a test runs this under a low `ulimit -n`. Prints one line of JSON:
 * why it ended, and what the process that was started later sent.
 */
import { superviseProcess } from '../../core/cli/serve/child-process.ts';
import { openLog } from '../../core/log.ts';
import { eventually } from './eventually.ts';
import { exhaustFiles } from './exhaust-files.ts';

const received: string[] = [];
const supervised = superviseProcess({
  name: 'proxy',
  flags: [],
  env: process.env,
  fds: [],
  log: openLog('silent'),
  begin: () => [{ kind: 'beat' }],
  received: ({ kind }) => received.push(kind),
  died: () => {},
  changed: () => {},
  downMs: null,
});
const giveBack = exhaustFiles();
supervised.run();
await eventually(() => supervised.state().last_end !== undefined);
giveBack();
await eventually(() => received.length > 0);
supervised.stop(0);
supervised.kill();
await supervised.ended;
console.log(JSON.stringify({ reason: supervised.state().last_end?.reason, received }));
