/** The fuzzer's tests: every response of the two APIs is in their contracts, to requests that these describe and to others. */
import { Agent } from 'node:http';
import * as fc from 'fast-check';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { startEmbedder } from '../embedding-server.ts';
import { recordsIn, startScriptedLlm } from '../scripted-llm.ts';
import { read } from '../serve.ts';
import type { Stand } from '../whole-service.ts';
import { type Document, type Operation, operationsOf, schemaCheck } from './document.ts';
import { complaints, curlOf, send } from './exchange.ts';
import { type Furniture, furnish, isDestructive, knownTo, readCursors } from './furnish.ts';
import { requestsOf, type Sent } from './requests.ts';
import { sweepOf } from './sweep.ts';

const SEED = Number(process.env.SVC_FUZZ_SEED ?? 20261121); // another seed makes other requests
/** Over both listeners. The databases differ only in SQL, for which fewer requests suffice on the second one. */
const REQUESTS = { embedded: 2_400, server: 800 };
const SPARE = 40;
const LIMIT_MS = 60_000; // for one operation, and for finding the smallest request that shows what is wrong with it
/** Operations that take long, or for which more requests show nothing new. */
const FEWER: Record<string, number> = {
  runDerive: 16,
  seedDemo: 12,
  purgeSession: 15, // each sweeps the tables
  deleteSession: 80,
  readEvents: 60,
  generateSkill: 40,
};
const AT_ONCE = 4;

/** The configuration of the cassettes that come with the service, so that none is left unconfigured. */
export async function beside() {
  const embedder = await startEmbedder();
  const llm = await startScriptedLlm((request) => {
    const [{ span = '', text = '' } = {}] = recordsIn(request);
    const claim = { text: text.slice(0, 80), sources: [{ span, quote: text.slice(0, 80) }] };
    return JSON.stringify({ name: 'Learnt', sections: [{ heading: 'Steps', claims: [claim] }] });
  });
  const env = {
    SVC_CASSETTES_BUILT_IN: 'true',
    SVC_CASSETTE_SEARCH_EMBEDDING_PROVIDER: 'ollama',
    SVC_CASSETTE_SEARCH_EMBEDDING_TARGET: embedder.url,
    SVC_CASSETTE_SEARCH_EMBEDDING_MODEL: 'scripted',
    SVC_CASSETTE_SKILLS_LLM_BASE_URL: llm.url,
    SVC_CASSETTE_SKILLS_LLM_API_KEY: 'sk-fuzz',
  };
  return { env, close: () => Promise.all([embedder.close(), llm.close()]) };
}

type FuzzContext = Stand & { furniture: Furniture; sent: number };

/** Declares the tests; the caller runs the suite. */
export function declareFuzz(base: Test<Stand>): void {
  const test = base as unknown as Test<FuzzContext>;
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
      // operations that delete sessions come last
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
        const known = knownTo(operation, context.furniture);
        /** @returns what is wrong with its answer; null: nothing */
        const tried = async (request: Sent): Promise<string | null> => {
          context.sent++;
          const got = await send(base, agent, request).catch((thrown: Error) => thrown);
          if (got instanceof Error) return `no answer: ${got.message}\n${curlOf(base, request)}`;
          statuses.add(got.status);
          const what = complaints(operation, request, got, check);
          if (got.status >= 500) what.push(`${got.status}, though everything stands that it needs`);
          return what.length > 0 ? `${what.join('\n')}\n${curlOf(base, request)}` : null;
        };
        const swept = await sweep(sweepOf(document, operation, known, SEED), tried);
        if (swept !== null) {
          wrong.push(`${operationId}: ${swept}`);
          continue;
        }
        const found = await fc.check(
          fc.asyncProperty(requestsOf(document, operation, known), async (request) => {
            const what = await tried(request);
            if (what !== null) throw new Error(what);
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
}

/** Runs some at a time. @returns the first failure */
async function sweep(
  requests: Iterable<Sent>,
  tried: (request: Sent) => Promise<string | null>,
): Promise<string | null> {
  const left = requests[Symbol.iterator]();
  let wrong: string | null = null;
  const one = async () => {
    for (let next = left.next(); !next.done && wrong === null; next = left.next())
      wrong = (await tried(next.value)) ?? wrong;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return wrong;
}

const databaseOf = ({ dsn }: Stand) => (dsn === '' ? 'embedded' : 'server');
const isGood = (status: number) => status >= 200 && status < 300;
/** An operation may exist only to refuse, like a method of a protocol that is not supported here. */
const canWork = ({ responses }: Operation) => Object.keys(responses).some((status) => isGood(Number(status)));
