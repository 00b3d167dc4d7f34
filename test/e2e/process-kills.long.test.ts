/** As process-kills.test.ts, with fifty kills of each process, ten at a time. */
import { processKillSuites } from '../support/faults/process-kill-suites.ts';

for (const test of processKillSuites(10, 5)) {
  test.run();
}
