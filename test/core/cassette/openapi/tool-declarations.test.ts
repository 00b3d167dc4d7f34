/** Which tools does a cassette offer, do their schemas stand for themselves, and what keeps one from being offered? */
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readDocument } from '../../../../core/cassette/openapi/document.ts';
import { type Isolation, Rejection } from '../../../../core/cassette/running.ts';
import { documentWith } from '../../../support/cassette-document.ts';
import type { Json } from '../../../support/read-api.ts';

const test = suite('tools of a cassette');

const FIND = '/api/notes/find';
const toolsWith = async (
  change: (document: Json) => void = () => {},
  name = 'notes',
  isolation: Isolation = 'process',
) => (await readDocument(documentWith(change), { name, isolation })).tools;
const toolWith = async (change?: (document: Json) => void): Promise<Json> => (await toolsWith(change))[0];
const refusedWith = async (change: (document: Json) => void, name?: string): Promise<Rejection> => {
  try {
    await toolsWith(change, name);
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  return assert.unreachable('it was offered') as never;
};

test('a POST operation that says so is a tool, under the installed name', async () => {
  const [tool, ...more] = await toolsWith(undefined, 'my-notes');
  assert.equal(more, []);
  const { inputSchema: _, outputSchema: __, ...rest } = tool as Json;
  assert.equal(rest, {
    name: 'find',
    full_name: 'my-notes_find',
    title: 'Finds notes',
    description: 'Finds notes that have a word in them.',
    annotations: { readOnlyHint: true },
    path: FIND,
  });
  assert.is(
    (await toolsWith(undefined, 'other'))[0]?.full_name,
    'other_find',
    'another installation gives another tool',
  );
});

test('a document without any offers none', async () => {
  assert.equal(await toolsWith((d) => delete d.paths[FIND]), []);
});

test('a remote one reaches out of this machine, whatever it says', async () => {
  const [tool] = await toolsWith(
    (d) => (d.paths[FIND].post['x-svc-mcp'].annotations.openWorldHint = false),
    'a1',
    'remote',
  );
  assert.equal(tool?.annotations, { readOnlyHint: true, openWorldHint: true });
});

test('its schemas stand for themselves, with what they refer to, recursion included', async () => {
  const { inputSchema, outputSchema } = await toolWith();
  assert.equal(inputSchema, {
    type: 'object',
    required: ['words'],
    properties: { words: { type: 'array', items: { type: 'string', minLength: 1 } } },
    additionalProperties: false,
  });
  assert.equal(Object.keys(outputSchema.$defs).sort(), ['Group', 'Note', 'Query', 'Text']);
  assert.is(outputSchema.properties.first.$ref, '#/$defs/Query/properties/words/items');
  for (const ajv of [new Ajv2020({ strict: true, strictTypes: false }), new Ajv({ strict: false })]) {
    const check = ajv.compile(outputSchema);
    const group = (notes: unknown[]) => ({ notes: [{ kind: 'Group', notes }] });
    assert.ok(
      check(
        group([
          { kind: 'text', text: 'x' },
          { kind: 'Group', notes: [] },
        ]),
      ),
      JSON.stringify(check.errors),
    );
    assert.not.ok(check(group([{ kind: 'text' }])));
    assert.ok(ajv.compile(inputSchema)({ words: ['a'] }));
  }
});

test('a schema that is an object through others is offered, and its text is that of the operation', async () => {
  const tool = await toolWith((d) => {
    const { post } = d.paths[FIND];
    post.requestBody.content['application/json'].schema = { allOf: [{ $ref: '#/components/schemas/Query' }, {}] };
    delete post.description;
  });
  assert.is(tool.inputSchema.type, 'object');
  assert.equal(Object.keys(tool.inputSchema.$defs), ['Query']);
  assert.is(tool.description, 'Finds notes');
});

test('several answers that say it went well are one schema that takes each of them', async () => {
  const { outputSchema } = await toolWith((d) => {
    const { responses } = d.paths[FIND].post;
    const later = { type: 'object', required: ['later'], properties: { later: { const: true } } };
    responses[202] = { description: 'Later', content: { 'application/json': { schema: later } } };
  });
  const check = new Ajv2020({ strict: true, strictTypes: false }).compile(outputSchema);
  assert.ok(check({ later: true }) && check({ notes: [] }));
  assert.not.ok(check({ sooner: true }));
});

test('a reference that leads elsewhere than to a named schema is bundled too', async () => {
  const { inputSchema } = await toolWith((d) => {
    const leads = '#/paths/~1api~1notes~1%7Bid%7D/parameters/0/schema';
    d.components.schemas.Query.properties.words.items = { $ref: leads };
  });
  const check = new Ajv2020().compile(inputSchema);
  assert.ok(check({ words: ['a'] }));
  assert.not.ok(check({ words: [1] }));
});

const post = (change: (operation: Json) => void) => (d: Json) => change(d.paths[FIND].post);
const MUTANTS: Record<string, [reason: RegExp, change: (document: Json) => void]> = {
  'one without a name': [
    /POST \/api\/notes\/find: x-svc-mcp\.name needs a name/,
    post((o) => delete o['x-svc-mcp'].name),
  ],
  'one that is no declaration': [/POST \/api\/notes\/find: x-svc-mcp /, post((o) => (o['x-svc-mcp'] = true))],
  'a dot in the name': [/some models refuse tools with a dot/, post((o) => (o['x-svc-mcp'].name = 'find.notes'))],
  'a name with spaces': [/needs a name of A-Z/, post((o) => (o['x-svc-mcp'].name = 'find notes'))],
  'a name too long for a model': [
    /"notes_x{59}" has a name of more than 64 characters/,
    post((o) => (o['x-svc-mcp'].name = 'x'.repeat(59))),
  ],
  'a hint that is no truth': [
    /x-svc-mcp\.annotations\.readOnlyHint /,
    post((o) => (o['x-svc-mcp'].annotations.readOnlyHint = 'yes')),
  ],
  parameters: [/a tool takes no parameters/, post((o) => (o.parameters = [{ $ref: '#/components/parameters/Limit' }]))],
  'parameters of the path': [
    /a tool takes no parameters/,
    (d) => (d.paths[FIND].parameters = [{ $ref: '#/components/parameters/Limit' }]),
  ],
  'no body': [/has a request body/, post((o) => delete o.requestBody)],
  'a body elsewhere': [
    /a request body that is written out/,
    (d) => {
      d.components.requestBodies = { Find: d.paths[FIND].post.requestBody };
      d.paths[FIND].post.requestBody = { $ref: '#/components/requestBodies/Find' };
    },
  ],
  'a body that may be left out': [/the body of a tool is required/, post((o) => (o.requestBody.required = false))],
  'a body that is no JSON': [
    /the body of a tool is application\/json/,
    post((o) => (o.requestBody.content = { 'text/plain': { schema: { type: 'string' } } })),
  ],
  'a body that is no object': [
    /the schema of a tool's body has "type": "object"/,
    post((o) => (o.requestBody.content['application/json'].schema = { type: 'array' })),
  ],
  'a body that is anything': [
    /the schema of a tool's body has "type": "object"/,
    post((o) => (o.requestBody.content['application/json'] = {})),
  ],
  'an answer that is no object': [
    /the schema of a tool's answer has "type": "object"/,
    post((o) => (o.responses[200].content['application/json'].schema = { type: ['object', 'null'] })),
  ],
  'only answers that say it went wrong': [/an answer that says it went well/, post((o) => delete o.responses[200])],
  'an answer without content': [
    /its answer 204 has to be application\/json/,
    post((o) => (o.responses[204] = { description: 'x' })),
  ],
  'an answer that may be something else': [
    /its answer 200 has to be application\/json and nothing else/,
    post((o) => (o.responses[200].content['text/csv'] = {})),
  ],
  'an answer elsewhere': [
    /its answer 201 has to be written out/,
    post((o) => (o.responses[201] = { $ref: '#/components/responses/Bad' })),
  ],
  'a GET operation': [
    /GET \/api\/notes: x-svc-mcp stands on POST operations only/,
    (d) => (d.paths['/api/notes'].get['x-svc-mcp'] = { name: 'list' }),
  ],
  'the root': [/its root: x-svc-mcp stands on POST operations only/, (d) => (d['x-svc-mcp'] = { name: 'all' })],
  'a path': [/\/api\/notes: x-svc-mcp stands on/, (d) => (d.paths['/api/notes']['x-svc-mcp'] = { name: 'all' })],
  'a schema': [/components\.schemas\.Note: x-svc-mcp stands on/, (d) => (d.components.schemas.Note['x-svc-mcp'] = {})],
  'a webhook': [
    /webhooks\.found\.post: x-svc-mcp stands on/,
    (d) => (d.webhooks = { found: { post: { responses: { 200: { description: 'x' } }, 'x-svc-mcp': { name: 'x' } } } }),
  ],
  'one name twice': [
    /the tool "find" is declared twice/,
    (d) => (d.paths['/api/notes/again'] = { post: { ...d.paths[FIND].post, operationId: 'again' } }),
  ],
  'a schema that takes up an agent': [
    /the schema of a tool's body, with what it refers to, has more than 65536 characters/,
    (d) => (d.components.schemas.Query.description = 'x'.repeat(70_000)),
  ],
  'a schema that refers to too much': [
    /the schema of a tool's answer, with what it refers to, has more than/,
    (d) => (d.components.schemas.Group.description = 'x'.repeat(70_000)),
  ],
  'a novel': [/description has at most 4096 characters/, post((o) => (o.description = 'x'.repeat(5000)))],
};
for (const [what, [reason, change]] of Object.entries(MUTANTS))
  test(`${what} keeps the cassette out at the step tools`, async () => {
    const { step, message, problems } = await refusedWith(change);
    assert.is(step, 'tools', message);
    assert.match(message, reason);
    assert.ok(problems.length >= 1);
  });

const many = (count: number) => (d: Json) => {
  const { operationId: _, ...operation } = d.paths[FIND].post;
  for (let n = 0; n < count; n++)
    d.paths[`/api/notes/find/${n}`] = { post: { ...operation, 'x-svc-mcp': { name: `find_${n}` } } };
};

test('128 tools are offered in the order of their names, 129 are too many', async () => {
  const names = (await toolsWith(many(127))).map((tool) => tool.full_name);
  assert.is(names.length, 128);
  assert.equal(names, [...names].sort());
  const { step, message } = await refusedWith(many(128));
  assert.equal(
    [step, message],
    ['tools', 'Cannot offer its tools: it declares 129 tools, and at most 128 can be offered'],
  );
});

test('all tools together are no more than an agent can hold in mind', async () => {
  const { message } = await refusedWith((d) => {
    d.components.schemas.Query.description = 'x'.repeat(10_000);
    many(30)(d);
  });
  assert.match(message, 'the schemas of its tools have');
});

test.run();
