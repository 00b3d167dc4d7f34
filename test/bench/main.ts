/**
 * `npm run bench`: what the proxy adds, what intake manages, what one more turn costs to derive, how long reads take, how long a month
 * takes to be removed, what a bad cassette costs, how soon it all starts and how long commands take, as ratios within one run.
 * `npm run bench -- proxy` for one part, `npm run bench -- web:load` for one group of a part that has groups.
 * Load, upstream and service share the machine's cores, so absolute figures are only worth something beside their neighbours.
 */
import { spawnSync } from 'node:child_process';
import { SERVICE_FLAGS } from '../../core/service-flags.ts';
import { benchCassette } from './cassette.ts';
import { benchCommands } from './commands.ts';
import { benchDerive } from './derive.ts';
import { benchExport } from './export.ts';
import { benchFind } from './find.ts';
import { benchIntake } from './intake.ts';
import { benchProxy } from './proxy.ts';
import { benchRead } from './read.ts';
import { benchRetention } from './retention.ts';
import { benchSearch } from './search.ts';
import { benchStart } from './start.ts';
import { benchWeb } from './web.ts';

const parts = {
  proxy: benchProxy,
  intake: benchIntake,
  derive: benchDerive,
  read: benchRead,
  web: benchWeb,
  search: benchSearch,
  find: benchFind,
  retention: benchRetention,
  cassette: benchCassette,
  export: benchExport,
  start: benchStart,
  commands: benchCommands,
};
/** These measure what runs in this process: it gets the flags of the process that it runs in otherwise. */
const WITHIN = ['intake', 'derive'];
const hasFlags = SERVICE_FLAGS.every((flag) => process.execArgv.includes(flag));

function runWithFlags(names: readonly string[]): void {
  const args = [...process.execArgv, ...SERVICE_FLAGS, process.argv[1] ?? '', ...names];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const wanted = process.argv.slice(2).map((name) => name.split(':'));
for (const [name, run] of Object.entries(parts)) {
  const own = wanted.filter(([part]) => part === name);
  if (wanted.length > 0 && own.length === 0) continue;
  if (WITHIN.includes(name) && !hasFlags) runWithFlags(own.length > 0 ? own.map((each) => each.join(':')) : [name]);
  else await run(own.flatMap(([, group]) => group ?? [])); // none: all of them
}
