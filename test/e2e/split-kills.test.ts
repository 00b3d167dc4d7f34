/** A service split into its roles, of which one of each kind is killed in turn under load. (Long: `npm run soak -- split`.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { splitUnderLoad } from '../support/faults/split.ts';
import { eventually } from '../support/serve.ts';

const test = suite('kill -9 of each role under load (server)');
const cluster = process.env.SVC_TEST_DSN ?? '';
const ENOUGH = 50; // calls, and turns

test('what clients and senders received is stored once and derived, whichever role is killed', async () => {
  const figures = await splitUnderLoad(
    {
      cluster,
      sizes: { proxy: 2, ingest: 2, derive: 2, api: 1 },
      ...{ callsPerSecond: 8, turnsPerSecond: 8 },
    },
    async ({ fleet, killed, sent }) => {
      for (const role of ['derive', 'proxy', 'ingest', 'api'] as const) {
        const [first] = fleet.of(role);
        assert.ok(first);
        await killed(first);
      }
      await eventually('the load to have been real, however soon they were back', async () => sent() > ENOUGH);
    },
  );
  assert.ok(figures.captured > ENOUGH && figures.sent > ENOUGH, `the load was real: ${JSON.stringify(figures)}`);
  if (process.env.SVC_TEST_FIGURES) console.log(JSON.stringify(figures));
});

if (cluster === '') console.log('skip: kill -9 of each role under load (server): SVC_TEST_DSN is not set');
else test.run();
