/**
 * `npm run bench`: what the proxy adds and what intake manages, as ratios within one run. `npm run bench -- proxy` for one part.
 * Load, upstream and service share the machine's cores, so absolute figures are only worth something beside their neighbours.
 */
import { benchIntake } from './intake.ts';
import { benchProxy } from './proxy.ts';

const parts = { proxy: benchProxy, intake: benchIntake };
const asked = process.argv.slice(2);
for (const [name, run] of Object.entries(parts)) if (asked.length === 0 || asked.includes(name)) await run();
