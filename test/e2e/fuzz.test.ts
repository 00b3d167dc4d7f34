/** Is everything that the two APIs answer in their contracts? Asked as the contracts have it, and in every way that they do not foresee. */
import { Agent } from 'node:http';
import * as fc from 'fast-check';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Document, type Operation, operationsOf, schemaCheck } from '../support/openapi-fuzz/document.ts';
import { complaints, curlOf, send } from '../support/openapi-fuzz/exchange.ts';
import { type Furniture, furnish, isDestructive, knownTo, readCursors } from '../support/openapi-fuzz/furnish.ts';
import { requestsOf } from '../support/openapi-fuzz/requests.ts';
import { read } from '../support/serve.ts';
import { onEachDatabase, type Stand } from '../support/whole-service.ts';

const SEED = Number(process.env.SVC_FUZZ_SEED ?? 20261121); // another one asks other things
/** Over both listeners. What differs between the databases is SQL, of which fewer requests show as much. */
const REQUESTS = { embedded: 5_200, server: 1_300 };
const SPARE = 40;
const LIMIT_MS = 60_000; // for one operation, and for finding the smallest request that shows what is wrong with it
/** Operations that take long, or of which more of the same shows nothing new. */
const FEWER: Record<string, number> = {
  runDerive: 16,
  seedDemo: 12,
  purgeSession: 15, // each sweeps the tables
  deleteSession: 80,
  readEvents: 60,
};

type Kept = Stand & { furniture: Furniture; sent: number };

onEachDatabase('fuzzed APIs', (given) => {
  const test = given as unknown as Test<Kept>;
  test.before(async (context) => {
    context.furniture = await furnish(context.service, { spare: SPARE });
    context.sent = 0;
  });

  for (const listener of ['api', 'ingest'] as const)
    test(`every answer of the ${listener} listener is described by its contract, and none is a failure of ours`, async (context) => {
      const base = context.service[listener];
      const document = await read<Document>(`${base}/openapi`);
      const check = schemaCheck(document);
      const agent = new Agent({ keepAlive: true, maxSockets: 4 });
      // what takes sessions away comes last
      const operations = operationsOf(document).sort(
        (one, other) => Number(isDestructive(one)) - Number(isDestructive(other)),
      );
      const share = (listener === 'api' ? 0.85 : 0.15) * REQUESTS[databaseOf(context)];
      const dear = operations.reduce((sum, { operationId }) => sum + (FEWER[operationId] ?? 0), 0);
      const each = Math.ceil((share - dear) / operations.filter(({ operationId }) => !(operationId in FEWER)).length);
      const wrong: string[] = [];
      for (const operation of operations) {
        const { operationId } = operation;
        context.furniture.cursors[operation.path] = await readCursors(
          context.service.api,
          operation,
          context.furniture,
        ).catch(() => []);
        const statuses = new Set<number>();
        const requests = requestsOf(document, operation, knownTo(operation, context.furniture));
        const found = await fc.check(
          fc.asyncProperty(requests, async (request) => {
            context.sent++;
            const got = await send(base, agent, request).catch((thrown: Error) => thrown);
            const what =
              got instanceof Error ? [`no answer: ${got.message}`] : complaints(operation, request, got, check);
            if (!(got instanceof Error)) statuses.add(got.status);
            if (what.length > 0) throw new Error(`${what.join('\n')}\n${curlOf(base, request)}`);
          }),
          {
            seed: SEED,
            numRuns: FEWER[operationId] ?? each,
            interruptAfterTimeLimit: LIMIT_MS,
          },
        );
        if (found.failed)
          wrong.push(
            `${operationId}: ${found.errorInstance instanceof Error ? found.errorInstance.message : 'takes too long'}`,
          );
        else if (canWork(operation) && ![...statuses].some(isGood))
          wrong.push(`${operationId} was never seen to work: ${[...statuses]}`);
      }
      agent.destroy();
      assert.is(wrong.length, 0, `\n${wrong.join('\n\n')}\n(seed ${SEED})`);
    });

  test('thousands of requests were sent, and none was logged as an error', (context) => {
    const { sent, service } = context;
    assert.ok(sent >= (databaseOf(context) === 'embedded' ? 5_000 : 1_200), `${sent} requests`);
    const errors = service
      .log()
      .split('\n')
      .filter((line) => /"level":(?:50|60|"error"|"fatal")/.test(line));
    assert.equal(errors, []);
  });

  test.run();
});

const databaseOf = ({ dsn }: Stand) => (dsn === '' ? 'embedded' : 'server');
const isGood = (status: number) => status >= 200 && status < 300;
/** An operation may be there to say no, like a method that a protocol knows and we do not. */
const canWork = ({ responses }: Operation) => Object.keys(responses).some((status) => isGood(Number(status)));
