/** The suites that kill the processes of a service, one for each database: so often, in each of so many rounds. */
import { join } from 'node:path';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { builtProgram } from '../built-service.ts';
import { emptyFolder, removeFolder } from '../serve.ts';
import { proxyKills, serviceKills } from './process-kills.ts';

type Context = { built: string; program: string };

export function processKillSuites(kills: number, rounds = 1): Test<Context>[] {
  const cluster = process.env.SVC_TEST_DSN;
  if (!cluster) console.log('skip: killed processes (server): SVC_TEST_DSN is not set');
  return [declared('embedded', '', kills, rounds), ...(cluster ? [declared('server', cluster, kills, rounds)] : [])];
}

/** The service as it is installed starts in a fraction of the time that its sources take. */
function declared(name: string, cluster: string, kills: number, rounds: number): Test<Context> {
  const test = suite<Context>(`killed processes (${name})`);
  test.before(async (context) => {
    context.built = await emptyFolder();
    context.program = await builtProgram(join(context.built, 'package'));
  });
  test.after(({ built }) => removeFolder(built));

  for (let round = 1; round <= rounds; round++) {
    test(`round ${round}: the service is killed ${kills} times: no client notices, and every call is captured once`, async ({
      program,
    }) => {
      const figures = await serviceKills({ cluster, program }, { kills, aliveMs: [50, 800] });
      assert.ok(figures.captured > 10 * kills, `load was real: ${JSON.stringify(figures)}`);
      console.log(JSON.stringify(figures));
    });

    test(`round ${round}: the proxy is killed ${kills} times: the next one answers soon, and the ledger is exact`, async ({
      program,
    }) => {
      const figures = await proxyKills({ cluster, program }, { kills, aliveMs: [50, 800] });
      assert.ok(figures.captured > kills, `load was real: ${JSON.stringify(figures)}`);
      console.log(JSON.stringify(figures));
    });
  }
  return test;
}
