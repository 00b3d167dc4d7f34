/** Is each contract whole? Valid to those who read it, with every operation, status and example told, and every example true. */
import { validate } from '@readme/openapi-parser';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../../core/api/app.ts';
import { ingestContract } from '../../../ingest/app.ts';
import { standIngest } from '../../ingest/stand.ts';
import {
  type Document,
  isJson,
  type Operation,
  operationsOf,
  resolved,
  schemaCheck,
} from '../../support/openapi-fuzz/document.ts';
import { testApi } from '../../support/read-api.ts';

const CONTRACTS = [
  {
    name: 'read API',
    served: () => testApi().request('/openapi'),
    compiled: readContract,
    failure: 'application/problem+json',
    always: ['400', '401', '403', '408', '431', '500', '503'],
  },
  {
    name: 'ingest API',
    served: () => standIngest().app.request('/openapi'),
    compiled: ingestContract,
    failure: 'application/json', // the envelope of the seed
    always: ['400', '403', '408', '431', '500', '503'],
  },
];

/** A rename is a break: clients are generated from these. */
const OPERATIONS: Record<string, readonly string[]> = {
  'read API': [
    'DELETE /v1/mcp endMcp',
    'DELETE /v1/sessions/{id} deleteSession',
    'GET /openapi readContract',
    'GET /ping ping',
    'GET /swagger readContractPage',
    'GET /swagger/{file} readContractPageFile',
    'GET /v1/admin/backup makeBackup',
    'GET /v1/admin/purge/sessions listSessionsToPurge',
    'GET /v1/admin/status readStatus',
    'GET /v1/admin/verify verifySessions',
    'GET /v1/browse/facets browseFacets',
    'GET /v1/browse/sessions browseSessions',
    'GET /v1/cache/breaks listCacheBreaks',
    'GET /v1/cassettes listCassettes',
    'GET /v1/cassettes/{name}/openapi.json readCassetteContract',
    'GET /v1/coverage readCoverage',
    'GET /v1/events readEvents',
    'GET /v1/find find',
    'GET /v1/mcp listenMcp',
    'GET /v1/raw_turns/{raw_turn_id} readRawTurn',
    'GET /v1/raw_turns/{raw_turn_id}/blocks/{n} readPromptBlock',
    'GET /v1/raw_turns/{raw_turn_id}/context readCallContext',
    'GET /v1/raw_turns/{raw_turn_id}/request readRawRequest',
    'GET /v1/raw_turns/{raw_turn_id}/response readRawResponse',
    'GET /v1/sessions listSessions',
    'GET /v1/sessions/{id} readSession',
    'GET /v1/sessions/{id}/cache readSessionCache',
    'GET /v1/sessions/{id}/find findInSession',
    'GET /v1/sessions/{id}/outline readOutline',
    'GET /v1/sessions/{id}/raw_turns listRawTurns',
    'GET /v1/sessions/{id}/traces readSessionTraces',
    'GET /v1/stats readStats',
    'GET /v1/stats/series readStatsSeries',
    'GET /v1/traces listTraces',
    'GET /v1/traces/{trace_id} readTrace',
    'GET /v1/traces/{trace_id}/spans readSpans',
    'GET /v1/traces/{trace_id}/spans/{span_id} readSpan',
    'GET /v1/whereis/{id} whereIs',
    'PATCH /v1/sessions/{id} renameSession',
    'POST /v1/admin/derive/run runDerive',
    'POST /v1/admin/find-text findText',
    'POST /v1/admin/gc collectGarbage',
    'POST /v1/admin/purge/parked-turns purgeParkedTurns',
    'POST /v1/admin/raw-turns/attribution-repair repairAttribution',
    'POST /v1/admin/seed/demo seedDemo',
    'POST /v1/admin/sessions/{id}/purge purgeSession',
    'POST /v1/mcp callMcp',
  ],
  'ingest API': [
    'GET /openapi readContract',
    'GET /ping ping',
    'POST /v1/ingest appendTurn',
    'POST /v1/ingest/transcript appendTranscript',
  ],
};

/** They ask no database. */
const WITHOUT_DATABASE = new Set([
  ...['ping', 'readContract', 'readContractPage', 'readContractPageFile'],
  'listCassettes',
  ...['callMcp', 'listenMcp', 'endMcp'], // what a tool cannot read is said in its result
]);
/** What a linter warns of and we mean. */
const MEANT = [
  'operation-2xx-response #/paths/~1v1~1mcp/get/responses',
  'operation-2xx-response #/paths/~1v1~1mcp/delete/responses',
];
/** A protocol has these methods; we answer 405, as it permits. */
const REFUSED = new Set(['listenMcp', 'endMcp']);
/** JSON-RPC has an envelope of its own, with `error` in it too. */
const JSON_RPC = new Set(['callMcp']);
const GUARDS = new Set(['401', '403', '408', '431', '500']);
/** HTTP's own, in the envelope of the listener, and what the protocol makes of a body. */
const EITHER = '400';
const PROBES = new Set(['ping', 'readContractPage', 'readContractPageFile']); // nobody is asked for a token

for (const { name, served, compiled, failure, always } of CONTRACTS) {
  const test = suite(`contract of the ${name}`);
  const document = compiled('0') as unknown as Document;
  const operations = operationsOf(document);
  const titled = (operation: Operation) => `${operation.method} ${operation.path}`;
  const answers = operations.flatMap((operation) =>
    Object.entries(operation.responses).map(([status, answer]) => ({ operation, status, answer })),
  );
  const contents = [
    ...operations.flatMap((operation) =>
      operation.requestBody ? [{ what: `${titled(operation)}, body`, content: operation.requestBody.content }] : [],
    ),
    ...answers.map(({ operation, status, answer }) => ({
      what: `${titled(operation)}, ${status}`,
      content: answer.content ?? {},
    })),
  ];

  test('three independent validators accept what is served', async () => {
    const made = (await (await served()).json()) as Document;
    assert.is(made.openapi, '3.1.0');
    const byReadme = await validate(structuredClone(made) as never);
    assert.equal([byReadme.valid, byReadme.warnings], [true, []], JSON.stringify(byReadme));
    const bySeriousme = await new Validator().validate(structuredClone(made));
    assert.ok(bySeriousme.valid, JSON.stringify(bySeriousme.errors));
    // its strictest rules; whose the service is, and where it stands, is its operator's to say
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        'no-empty-servers': 'off',
        'info-license': 'off',
        ...(failure === 'application/json' ? { 'security-defined': 'off' } : {}),
      },
    });
    const byRedocly = await lintFromString({ source: JSON.stringify(made), absoluteRef: 'openapi.json', config });
    const found = byRedocly.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`);
    assert.equal(
      found.filter((one) => !MEANT.includes(one)),
      [],
    );
  });

  test('what is served is what is compiled and sealed', async () => {
    const { info, ...rest } = (await (await served()).json()) as Document;
    assert.equal(rest, JSON.parse(JSON.stringify({ ...compiled(info.version), info: undefined })));
  });

  test('every operation has the id that it always had', () => {
    assert.equal(operations.map((one) => `${titled(one)} ${one.operationId}`).sort(), OPERATIONS[name]);
    assert.is(new Set(operations.map(({ operationId }) => operationId)).size, operations.length, 'ids are unique');
  });

  test('every operation says what it is, and where it belongs', () => {
    for (const { summary, tags, ...operation } of operations) {
      assert.match(summary ?? '', /^[A-Z`].{9,}[^.]$/, titled(operation as Operation));
      assert.is(tags?.length, 1, titled(operation as Operation));
    }
  });

  test('every operation tells each status that can come of what stands before it', () => {
    for (const operation of operations) {
      const statuses = Object.keys(operation.responses);
      const has = (status: string) => assert.ok(statuses.includes(status), `${titled(operation)} documents ${status}`);
      for (const status of always)
        if (
          !(status === '401' && PROBES.has(operation.operationId)) &&
          !(status === '503' && WITHOUT_DATABASE.has(operation.operationId))
        )
          has(status);
      if (operation.parameters.some((one) => one.in === 'query')) has('400');
      if (operation.parameters.some((one) => one.in === 'path')) has('404');
      if (operation.requestBody) for (const status of ['400', '413', '415']) has(status);
      assert.ok(
        statuses.some((status) => Number(status) < 400) || REFUSED.has(operation.operationId),
        `${titled(operation)} can work`,
      );
    }
  });

  test('every answer is described, and every failure comes in the envelope of the listener', () => {
    for (const { operation, status, answer } of answers) {
      const where = `${titled(operation)}, ${status}`;
      assert.match(answer.description, /^.{3,}[^.]$/, where);
      if (Number(status) < 400) continue;
      const types = Object.entries(answer.content ?? {});
      assert.equal(
        types.map(([type]) => type),
        !JSON_RPC.has(operation.operationId) || GUARDS.has(status)
          ? [failure]
          : ['application/json', ...(status === EITHER ? [failure] : [])],
        where,
      );
      for (const [, { schema = {} }] of types)
        assert.ok((resolved(document, schema).required as string[]).includes('error'), where);
    }
  });

  test('every answer names the headers that it has, those of its status among them', () => {
    const always = ['cache-control', 'cross-origin-resource-policy', 'x-content-type-options', 'x-request-id'];
    const of: Record<string, string> = { 401: 'www-authenticate', 405: 'allow', 503: 'retry-after' };
    for (const { operation, status, answer } of answers) {
      const where = `${titled(operation)}, ${status}`;
      const required = Object.entries(answer.headers ?? {}).filter(([, header]) => header.required);
      const names = required.map(([header]) => header);
      for (const header of [...always, ...(of[status] ? [of[status]] : [])]) assert.ok(names.includes(header), where);
      for (const header of Object.values(of)) assert.is(names.includes(header), of[status] === header, where);
      for (const [, { description }] of required) assert.match(description ?? '', /^.{5,}[^.]$/, where);
    }
  });

  test('every failure shows an example of its own status', () => {
    for (const { operation, status, answer } of answers) {
      const shown = answer.content?.[failure]?.example as { status?: number; code?: string; error: string } | undefined;
      if (Number(status) < 400 || !answer.content?.[failure]) continue;
      const where = `${titled(operation)}, ${status}`;
      assert.ok(shown?.error, where);
      if (failure === 'application/problem+json') assert.is(shown.status, Number(status), where);
    }
  });

  test('every path parameter is required, and every parameter says what it takes', () => {
    for (const operation of operations) {
      const named = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
      const inPath = operation.parameters.filter((one) => one.in === 'path');
      assert.equal(
        inPath.map((one) => one.name),
        named,
        titled(operation),
      );
      for (const { name: parameter, schema, description, required, in: place } of operation.parameters) {
        const where = `${titled(operation)}, ${parameter}`;
        assert.ok(place !== 'path' || required === true, where);
        assert.ok(schema.type ?? schema.$ref ?? schema.anyOf, where);
        assert.ok(description ?? schema.examples ?? schema.enum, where);
      }
    }
  });

  test('every schema is JSON Schema 2020-12, and every example is what its schema promises', () => {
    const check = schemaCheck(document);
    for (const schema of Object.values(document.components.schemas))
      for (const example of (schema.examples ?? []) as unknown[])
        assert.is(check(schema, example), null, `example ${JSON.stringify(example)}`);
    for (const { what, content } of contents)
      for (const [type, { schema = {}, example: own }] of Object.entries(content)) {
        const { examples: shared = [] } = resolved(document, schema) as { examples?: unknown[] };
        const examples = own === undefined ? shared : [own];
        assert.ok(examples.length > 0 || type === 'image/png', `${what} shows an example`);
        for (const example of examples) if (isJson(type)) assert.is(check(schema, example), null, what);
      }
    for (const operation of operations)
      for (const { schema, name: parameter } of operation.parameters)
        for (const example of (schema.examples ?? []) as unknown[])
          assert.is(check(schema, example), null, `${titled(operation)}, ${parameter}`);
  });

  test('a schema that is wrong is told', () => {
    const schemas = (schema: object) => ({ components: { schemas: { One: schema } } }) as never;
    assert.throws(() => schemaCheck(schemas({ type: 'strin' })));
    assert.throws(() => schemaCheck(schemas({ type: 'string', nullable: true })), /unknown keyword/);
    assert.throws(() => schemaCheck(schemas({ $ref: '#/components/schemas/Two' })), /resolve/);
    const check = schemaCheck(schemas({ type: 'object', properties: { at: { type: 'string', format: 'date-time' } } }));
    const one = { $ref: '#/components/schemas/One' };
    assert.is(check(one, { at: '2026-07-27T10:00:00Z' }), null);
    assert.match(check(one, { at: 'today' }) ?? '', 'format');
    assert.match(check(one, { when: 'today' }) ?? '', 'unevaluated');
  });

  test.run();
}
