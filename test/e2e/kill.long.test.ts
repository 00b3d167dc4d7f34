/** As kill.test.ts, with fifteen kills in each database. (Long: `npm run soak -- kills`.) */
import { killSuites } from '../support/faults/kill-suites.ts';

for (const test of killSuites({ embedded: 15, server: 15 })) {
  test.run();
}
