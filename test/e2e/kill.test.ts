/** kill -9 under load: what left in time is stored whole and once; everything else is partial or counted. (More kills: kill.long.) */
import { killSuites } from '../support/faults/kill-suites.ts';

for (const test of killSuites({ embedded: 6, server: 4 })) {
  test.run();
}
