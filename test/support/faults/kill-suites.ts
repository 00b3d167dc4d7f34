/** The suites that kill a whole service under load, one for each database: so often each. */
import { join } from 'node:path';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { builtProgram } from '../built-service.ts';
import { emptyFolder, removeFolder } from '../serve.ts';
import { killsUnderLoad } from './kills.ts';

type Context = { built: string; program: string };

export function killSuites(kills: { embedded: number; server: number }): Test<Context>[] {
  const cluster = process.env.SVC_TEST_DSN;
  if (!cluster) console.log('skip: kill -9 under load (server): SVC_TEST_DSN is not set');
  return [declared('embedded', '', kills.embedded), ...(cluster ? [declared('server', cluster, kills.server)] : [])];
}

/** The service as it is installed starts in a fraction of the time that its sources take. */
function declared(name: string, cluster: string, kills: number): Test<Context> {
  const test = suite<Context>(`kill -9 under load (${name})`);
  test.before(async (context) => {
    context.built = await emptyFolder();
    context.program = await builtProgram(join(context.built, 'package'));
  });
  test.after(({ built }) => removeFolder(built));

  test(`at ${kills} random moments nothing that left in time is lost, and nothing is doubled`, async ({ program }) => {
    const figures = await killsUnderLoad({ cluster, program }, { kills, aliveMs: [100, 900] });
    assert.ok(figures.captured > kills, `load was real: ${JSON.stringify(figures)}`);
  });
  return test;
}
