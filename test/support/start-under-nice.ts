/** Starts a process cassette and what lowers its own priority: a test runs this under `nice`. Prints one line of JSON. */
import { getPriority } from 'node:os';
import type { ConfinementLevel } from '../../core/cassette/isolation/confinement.ts';
import { yieldToListeners } from '../../core/yield-to-listeners.ts';
import { pidsOf, withCassette } from './started-cassette.ts';

const [wall] = process.argv.slice(2) as ConfinementLevel[];

await withCassette('friendly.mjs', wall ? { wall } : {}, async ({ ask, folder }) => {
  const answer = await (await ask('/ping')).text();
  const own = getPriority();
  const cassette = Math.min(...pidsOf(folder).map((pid) => getPriority(pid)));
  yieldToListeners(5);
  console.log(JSON.stringify({ answer, own, cassette, lowered: getPriority() }));
});
