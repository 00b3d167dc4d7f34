/** Is the contract with cassettes one valid document, in which none takes another's names or says who gets in? */
import { validate } from '@readme/openapi-parser';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../../../core/api/app.ts';
import { aggregate } from '../../../../core/cassette/openapi/aggregate.ts';
import { readDocument } from '../../../../core/cassette/openapi/document.ts';
import { joinedDocument } from '../../../../core/cassette/openapi/joined-document.ts';
import { documentWith } from '../../../support/cassette-document.ts';
import { type Document, schemaCheck } from '../../../support/openapi-fuzz/document.ts';
import type { Json } from '../../../support/read-api.ts';

const test = suite('contract with cassettes');
const core = readContract('0');

const part = async (name: string, change?: (document: Json) => void) => ({
  name,
  document: (await readDocument(documentWith(change), { name, isolation: 'process' })).document,
});
/** Without values that readers take for references. */
const plain = (d: Json) => {
  delete d.components.schemas.Group.properties.$ref;
  delete d.components.schemas.Text.properties.text.default;
  delete d.paths['/api/notes'].get.responses[200].content['application/json'].example;
};
const whole = async (...names: string[]): Promise<Json> =>
  aggregate(core, await Promise.all(names.map((name) => part(name, plain))));

test('without a cassette it is the contract as it is sealed', () => {
  assert.equal(aggregate(core, []), core);
});

test('three independent validators accept it with two installations of one cassette', async () => {
  const document = await whole('notes', 'my-notes');
  const byReadme = await validate(structuredClone(document));
  assert.equal([byReadme.valid, byReadme.warnings], [true, []], JSON.stringify(byReadme));
  const bySeriousme = await new Validator().validate(structuredClone(document));
  assert.ok(bySeriousme.valid, JSON.stringify(bySeriousme.errors));
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'no-empty-servers': 'off', 'info-license': 'off' },
  });
  const found = await lintFromString({ source: JSON.stringify(document), absoluteRef: 'openapi.json', config });
  assert.equal(
    found
      .map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)
      .filter((one) => !one.startsWith('no-ambiguous-paths ')) // {id} beside openapi.json, which is found first
      .filter((one) => /cassettes~1|components\/\w+\/(?:my_)?notes_/.test(one)),
    [],
  );
});

test('every schema in it compiles, and every reference of a cassette leads to what is its own', async () => {
  const document = await whole('notes', 'my-notes');
  schemaCheck(document as unknown as Document);
  for (const [path, item] of Object.entries(document.paths).filter(([one]) => one.startsWith('/v1/cassettes/notes')))
    for (const [, section, name] of JSON.stringify(item).matchAll(/"#\/components\/(\w+)\/([^"/]+)/g))
      assert.ok(name === 'Problem' || section === 'headers' || name?.startsWith('notes_'), `${path} refers to ${name}`);
});

test('the core stays as it is, whatever a cassette calls its own', async () => {
  const document = await whole('notes');
  for (const [path, item] of Object.entries(core.paths ?? {})) assert.equal(document.paths[path], item, path);
  for (const [section, held] of Object.entries(core.components ?? {}))
    for (const [name, value] of Object.entries(held as object))
      assert.equal(document.components[section][name], value, `${section} ${name}`);
  assert.equal([document.info, document.security], [core.info, core.security]);
  assert.not('x-svc-cassette' in document);
  assert.equal(Object.keys(document.components.securitySchemes), ['bearer']);
});

test('names of components and operations begin with the installed name, and links follow', async () => {
  const document = await whole('my-notes');
  const { get } = document.paths['/v1/cassettes/my-notes'];
  assert.is(get.operationId, 'my_notes_listNotes');
  assert.equal(get.tags, ['cassette: my-notes']);
  assert.equal(document.tags, [{ name: 'cassette: my-notes', description: 'Notes on sessions' }]);
  assert.equal(get.parameters, [{ $ref: '#/components/parameters/my_notes_Limit' }]);
  assert.is(get.responses[200].links.other.operationId, 'my_notes_readNote');
  const { Note, my_notes_Note } = document.components.schemas;
  assert.is(Note, undefined);
  assert.equal(my_notes_Note, {
    oneOf: [{ $ref: '#/components/schemas/my_notes_Text' }, { $ref: '#/components/schemas/my_notes_Group' }],
    discriminator: {
      propertyName: 'kind',
      mapping: { text: '#/components/schemas/my_notes_Text', Group: '#/components/schemas/my_notes_Group' },
    },
  });
});

test('every operation has an id of its own', async () => {
  const { paths } = await whole('notes', 'my-notes');
  const ids = Object.values<Json>(paths).flatMap((item) =>
    Object.values<Json>(item).flatMap(({ responses, operationId }) => (responses ? [operationId] : [])),
  );
  assert.is(new Set(ids).size, ids.length);
  assert.ok(ids.includes('notes_delete_by_id') && ids.includes('my_notes_delete_by_id'));
});

test('names that would meet stay apart: `a` with `b_C`, and `a-b` with `C`', async () => {
  const calling = (schema: string, id: string) => (d: Json) => {
    plain(d);
    d.components.schemas[schema] = { type: 'string', title: schema };
    d.paths['/api/notes'].get.operationId = id;
    d.paths['/api/notes'].get.responses[200].content['application/json'].schema = {
      $ref: `#/components/schemas/${schema}`,
    };
  };
  const parts = [await part('ab', calling('cd_E', 'cd_list')), await part('ab-cd', calling('E', 'list'))];
  const document: Json = aggregate(core, parts);
  const of = (name: string) => document.paths[`/v1/cassettes/${name}`].get;
  const schemaOf = (name: string) => of(name).responses[200].content['application/json'].schema.$ref.split('/').at(-1);
  assert.equal([schemaOf('ab'), schemaOf('ab-cd')], ['ab_cd_E', 'ab_cd_E_']);
  assert.equal([document.components.schemas.ab_cd_E.title, document.components.schemas.ab_cd_E_.title], ['cd_E', 'E']);
  assert.equal([of('ab').operationId, of('ab-cd').operationId], ['ab_cd_list', 'ab_cd_list_']);
  assert.equal(aggregate(core, parts.reverse()), document, 'whatever order they came in');
});

test('what the way to a cassette can answer is told beside what the cassette says', async () => {
  const document = await whole('notes');
  const { responses } = document.paths['/v1/cassettes/notes/find'].post;
  const between = ['400', '401', '403', '408', '413', '431', '500', '502', '503', '504'];
  assert.equal(Object.keys(responses), ['200', ...between]);
  assert.equal(Object.keys(responses[503].headers).includes('retry-after'), true);
  const problem = responses[502].content['application/problem+json'];
  assert.is(problem.schema.$ref, '#/components/schemas/Problem');
  assert.equal([problem.example.status, problem.example.code], [502, 'cassette-broken']);
  assert.equal(responses[400], { $ref: '#/components/responses/notes_Bad' }, 'its own words stay');
  assert.ok(responses[401].headers['www-authenticate'] && responses[401].content['application/problem+json'].example);
  const own = aggregate(core, [
    await part('notes', (d) => {
      const mediaType = { schema: { type: 'object' } };
      d.paths['/api/notes'].get.responses[503] = { description: 'Off', content: { 'application/json': mediaType } };
    }),
  ]) as Json;
  const off = own.paths['/v1/cassettes/notes'].get.responses[503];
  assert.is(off.description, 'Off');
  assert.equal(Object.keys(off.content).sort(), ['application/json', 'application/problem+json']);
});

test('an extension among the responses stays as it is, and a response whose name begins with x- is one', async () => {
  const note = { owner: 'ops' };
  const document: Json = aggregate(core, [
    await part('notes', (d) => {
      plain(d);
      const { responses } = d.paths['/api/notes'].get;
      Object.assign(responses, {
        'x-note': 'internal',
        'x-owner': note,
        404: { $ref: '#/components/responses/x-gone' },
      });
      d.components.responses['x-gone'] = { description: 'It is gone' };
    }),
  ]);
  const { responses } = document.paths['/v1/cassettes/notes'].get;
  assert.equal([responses['x-note'], responses['x-owner']], ['internal', note]);
  assert.ok(responses[200].headers['x-svc-cassette']);
  assert.equal(responses[404], { $ref: '#/components/responses/notes_x-gone' });
  assert.ok(document.components.responses['notes_x-gone'].headers['x-svc-cassette']);
});

/** As no check lets one in; it fails when half of it is read. */
const broken = async (name: string) => {
  const { document } = await part(name, plain);
  const paths: Json = { ...document.paths, [`/v1/cassettes/${name}/last`]: { get: { operationId: 'last' } } };
  return { name, document: { ...document, paths } };
};

test('a part that cannot be joined is left out whole, and the others are as they are without it', async () => {
  const good = [await part('notes', plain), await part('zoo', plain)];
  const names: string[] = [];
  const document = aggregate(core, [...good, await broken('my-notes')], (name) => names.push(name));
  assert.equal(names, ['my-notes']);
  assert.equal(document, aggregate(core, good));
});

test('the thread that joins them reports what it left out, with the reason', async () => {
  const leftOut: string[][] = [];
  const parts = [await part('notes', plain), await broken('my-notes')];
  const { paths } = JSON.parse(await joinedDocument(core, parts, (...one) => leftOut.push(one)));
  assert.ok(paths['/ping'] && paths['/v1/cassettes/notes']);
  assert.not.ok(Object.keys(paths).some((path) => path.startsWith('/v1/cassettes/my-notes')));
  assert.is(leftOut.length, 1);
  assert.is(leftOut[0]?.[0], 'my-notes');
  assert.match(leftOut[0]?.[1] ?? '', /undefined/);
});

test('neither the core nor a cassette is changed by it', async () => {
  const before = JSON.stringify(core);
  const parts = [await part('notes')];
  const theirs = JSON.stringify(parts);
  aggregate(core, parts);
  assert.is(JSON.stringify(core), before);
  assert.is(JSON.stringify(parts), theirs);
});

test.run();
