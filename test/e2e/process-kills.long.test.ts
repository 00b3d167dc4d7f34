/** As process-kills.test.ts, with fifty kills of each process. */
import { processKillSuites } from '../support/faults/process-kill-suites.ts';

for (const test of processKillSuites(50)) {
  test.run();
}
