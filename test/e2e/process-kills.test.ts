/** A service whose processes are killed under load: what an agent sees of it, and what is recorded. (Fifty kills: process-kills.long.) */
import { processKillSuites } from '../support/faults/process-kill-suites.ts';

for (const test of processKillSuites(5)) {
  test.run();
}
