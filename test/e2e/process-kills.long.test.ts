/** As process-kills.test.ts, with fifty kills of each process: five in a minute, since a service that ends more often is down until the next one. */
import { processKillSuites } from '../support/faults/process-kill-suites.ts';

for (const test of processKillSuites(5, 10)) {
  test.run();
}
