/** Suites, one for each kind of database, that send so many conversations through the proxy. Time bounds are four times the bars. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { flood } from './flood.ts';

export function floodSuites(conversations: number): void {
  for (const kind of ['embedded', 'server'] as const) {
    const test = suite(`a flood of ${conversations} conversations (${kind})`);

    test('is derived soon after it is stored; what comes last can be read at once', async () => {
      const { intakeMs, derivedMs, freshMs, slowestReadMs, reads } = await flood(kind, conversations);
      assert.ok(derivedMs <= 4 * 2 * intakeMs, `derived after ${derivedMs} ms, stored after ${intakeMs}`);
      assert.ok(freshMs <= 4 * 10_000, `readable after ${freshMs} ms`);
      assert.ok(slowestReadMs <= 4 * 1_000, `a read took ${slowestReadMs} ms`);
      assert.ok(reads >= 6);
    });

    if (kind === 'server' && !process.env.SVC_TEST_DSN)
      console.log(`skip: a flood of ${conversations} conversations (server): SVC_TEST_DSN is not set`);
    else test.run();
  }
}
