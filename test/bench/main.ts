/**
 * `npm run bench`: what the proxy adds, what intake manages, what one more turn costs to derive, how long reads take and what a bad
 * cassette costs, as ratios within one run.
 * `npm run bench -- proxy` for one part.
 * Load, upstream and service share the machine's cores, so absolute figures are only worth something beside their neighbours.
 */
import { benchCassette } from './cassette.ts';
import { benchDerive } from './derive.ts';
import { benchExport } from './export.ts';
import { benchIntake } from './intake.ts';
import { benchProxy } from './proxy.ts';
import { benchRead } from './read.ts';
import { benchSearch } from './search.ts';
import { benchWeb } from './web.ts';

const parts = {
  proxy: benchProxy,
  intake: benchIntake,
  derive: benchDerive,
  read: benchRead,
  web: benchWeb,
  search: benchSearch,
  cassette: benchCassette,
  export: benchExport,
};
const asked = process.argv.slice(2);
for (const [name, run] of Object.entries(parts)) if (asked.length === 0 || asked.includes(name)) await run();
