/** kill -9 under load: what left in time is stored whole and once; everything else is partial or counted. (Long: `npm run soak -- kills`.) */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildService } from '../support/built-service.ts';
import { killsUnderLoad } from '../support/faults/kills.ts';
import { emptyFolder, removeFolder } from '../support/serve.ts';

const KILLS = { embedded: 15, server: 5 };

type Context = { built: string; program: string };

/** The service as it is installed starts in a fraction of the time that its sources take. */
function declare(name: keyof typeof KILLS, cluster: string): void {
  const test = suite<Context>(`kill -9 under load (${name})`);
  test.before(async (context) => {
    context.built = await emptyFolder();
    context.program = await buildService(join(context.built, 'package'));
  });
  test.after(({ built }) => removeFolder(built));

  test(`at ${KILLS[name]} random moments nothing that left in time is lost, and nothing is doubled`, async ({
    program,
  }) => {
    const figures = await killsUnderLoad({ cluster, program }, { kills: KILLS[name], aliveMs: [100, 900] });
    assert.ok(figures.captured > KILLS[name], `load was real: ${JSON.stringify(figures)}`);
  });
  test.run();
}

declare('embedded', '');
if (process.env.SVC_TEST_DSN) declare('server', process.env.SVC_TEST_DSN);
else console.log('skip: kill -9 under load (server): SVC_TEST_DSN is not set');
