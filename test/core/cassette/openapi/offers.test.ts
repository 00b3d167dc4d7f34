/** Which resources and prompts does a cassette offer, and what keeps one from being offered? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readDocument } from '../../../../core/cassette/openapi/document.ts';
import { Rejection } from '../../../../core/cassette/running.ts';
import { documentWith } from '../../../support/cassette-document.ts';
import type { Json } from '../../../support/read-api.ts';

const test = suite('resources and prompts of a cassette');

const MARKDOWN = { 200: { description: 'Text', content: { 'text/markdown': { schema: { type: 'string' } } } } };
const ONE = '/api/notes/{id}';
const ABOUT = '/api/notes/about';
const ASK = '/api/notes/ask';
const EACH = '/api/notes/as-prompt/{name}';
const LIST = '/api/notes/names';

/** A document with each kind: a resource, a template that is listed, a prompt, and prompts that are listed. */
const offering = (d: Json): void => {
  const names = { type: 'object', required: ['items'], properties: { items: { type: 'array' } } };
  const cursor = { name: 'cursor', in: 'query', schema: { type: 'string' } };
  d.paths[LIST] = {
    get: {
      operationId: 'listNames',
      parameters: [cursor],
      responses: { 200: { description: 'Names', content: { 'application/json': { schema: names } } } },
    },
  };
  d.paths[ONE].get['x-svc-mcp'] = { resource: { name: 'note', list: 'listNames' }, anything: 'else' };
  d.paths[ABOUT] = {
    get: {
      summary: 'About notes',
      description: 'What notes are.',
      responses: MARKDOWN,
      'x-svc-mcp': { resource: { name: 'about' } },
    },
  };
  d.paths[ASK] = {
    get: {
      summary: 'Writes a note',
      parameters: [
        { name: 'topic', in: 'query', required: true, description: 'of the note', schema: { type: 'string' } },
        { name: 'tone', in: 'query', schema: { type: 'string' } },
      ],
      responses: MARKDOWN,
      'x-svc-mcp': { prompt: { name: 'write' } },
    },
  };
  d.paths[EACH] = {
    get: {
      parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }],
      responses: MARKDOWN,
      'x-svc-mcp': { prompt: { list: 'listNames' } },
    },
  };
};
const read = (change: (document: Json) => void = () => {}, name = 'notes') =>
  readDocument(
    documentWith((d) => {
      offering(d);
      change(d);
    }),
    { name, isolation: 'process' },
  );
const refusedWith = async (change: (document: Json) => void): Promise<Rejection> => {
  try {
    await read(change);
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  return assert.unreachable('it was offered') as never;
};

test('a document without any offers none', async () => {
  const { resources, prompts } = await readDocument(documentWith(), { name: 'notes', isolation: 'process' });
  assert.equal([resources, prompts], [[], []]);
});

test('a GET operation is a resource, whose URI has the installed name and the path', async () => {
  const { resources, tools } = await read(undefined, 'my-notes');
  const list = { path: LIST, pages: true };
  assert.equal(
    resources,
    [
      {
        full_name: 'my-notes_about',
        ...{ title: 'About notes', description: 'What notes are.', mimeType: 'text/markdown' },
        ...{ uri: 'svc://my-notes/about', path: ABOUT, variables: [], list: null },
      },
      {
        full_name: 'my-notes_note',
        ...{ title: 'One note', description: 'One note', mimeType: 'application/json' },
        ...{ uri: 'svc://my-notes/{id}', path: ONE, variables: ['id'], list },
      },
    ].sort((one, other) => (one.uri < other.uri ? -1 : 1)),
  );
  assert.is(tools.length, 1, 'beside its tool');
});

test('a GET operation is a prompt with the parameters of its query, or many that another one lists', async () => {
  const { prompts } = await read();
  assert.equal(prompts, [
    {
      ...{ full_name: 'notes_', title: `GET ${EACH}`, description: `GET ${EACH}`, path: EACH, arguments: [] },
      list: { path: LIST, pages: true },
    },
    {
      ...{ full_name: 'notes_write', title: 'Writes a note', description: 'Writes a note', path: ASK, list: null },
      arguments: [
        { name: 'topic', description: 'of the note', required: true },
        { name: 'tone', required: false },
      ],
    },
  ]);
});

test('one operation may be both, and a list need not have pages', async () => {
  const { resources, prompts } = await read((d) => {
    d.paths[ABOUT].get['x-svc-mcp'].prompt = { name: 'about' };
    delete d.paths[LIST].get.parameters;
  });
  assert.ok(prompts.some(({ full_name }) => full_name === 'notes_about'));
  assert.equal(resources.find(({ variables }) => variables.length > 0)?.list, { path: LIST, pages: false });
});

const get = (path: string, change: (operation: Json) => void) => (d: Json) => change(d.paths[path].get);
const offer = (path: string, value: unknown) => get(path, (o) => (o['x-svc-mcp'] = value));
const MUTANTS: Record<string, [reason: RegExp, change: (document: Json) => void]> = {
  'a resource without a name': [/x-svc-mcp\.resource\.name needs a name/, offer(ABOUT, { resource: {} })],
  'a name with spaces': [/needs a name of 1 to 64 of/, offer(ABOUT, { resource: { name: 'a b' } })],
  'a member that none has': [
    /x-svc-mcp\.resource Unrecognized key/,
    offer(ABOUT, { resource: { name: 'a', uri: 'x' } }),
  ],
  'one that is no declaration': [/GET \/api\/notes\/about: x-svc-mcp\.resource /, offer(ABOUT, { resource: true })],
  'one on a POST operation': [
    /POST \/api\/notes\/find: a resource or a prompt stands on a GET operation/,
    (d) => (d.paths['/api/notes/find'].post['x-svc-mcp'] = { resource: { name: 'x' } }),
  ],
  'one on a DELETE operation': [
    /DELETE \/api\/notes\/\{id\}: a resource or a prompt stands on a GET operation/,
    (d) => (d.paths[ONE].delete['x-svc-mcp'] = { prompt: { name: 'x' } }),
  ],
  'a list of one resource': [/lists no others/, offer(ABOUT, { resource: { name: 'a', list: 'listNames' } })],
  'a list that does not exist': [
    /its list "no" is no operationId of a GET operation/,
    offer(ONE, { resource: { name: 'a', list: 'no' } }),
  ],
  'a list that is a tool': [
    /"findNotes" is no operationId/,
    offer(ONE, { resource: { name: 'a', list: 'findNotes' } }),
  ],
  'a list of one thing': [/"readNote" has parameters/, offer(ONE, { resource: { name: 'a', list: 'readNote' } })],
  'a list that requires something': [
    /its list "listNames" has parameters that are required/,
    get(LIST, (o) => (o.parameters[0].required = true)),
  ],
  'a list that is no JSON': [
    /its list "listNames" is answered as application\/json/,
    get(LIST, (o) => (o.responses = MARKDOWN)),
  ],
  'a resource that requires a query': [
    /a resource is read by its path alone, and "q" is required/,
    get(ABOUT, (o) => (o.parameters = [{ name: 'q', in: 'query', required: true, schema: {} }])),
  ],
  'a resource without content': [
    /a resource has a response that it went well/,
    get(ABOUT, (o) => (o.responses = { 204: { description: 'x' } })),
  ],
  'a placeholder that no template has': [
    /placeholders of a resource have names of/,
    (d) => {
      d.paths['/api/notes/by/{a-b}'] = {
        get: {
          ...d.paths[ABOUT].get,
          parameters: [{ name: 'a-b', in: 'path', required: true, schema: {} }],
          'x-svc-mcp': { resource: { name: 'by' } },
        },
      };
    },
  ],
  'a prompt with neither name nor list': [/has either a "name", or a "list"/, offer(ASK, { prompt: {} })],
  'a prompt with both': [/has either a "name"/, offer(EACH, { prompt: { name: 'x', list: 'listNames' } })],
  'a named prompt of many': [
    /a prompt with a name of its own has no placeholder/,
    offer(EACH, { prompt: { name: 'x' } }),
  ],
  'listed prompts without a place for the name': [/has one placeholder/, offer(ASK, { prompt: { list: 'listNames' } })],
  'a prompt that is a picture': [
    /a prompt is answered as text\/plain, text\/markdown, application\/json/,
    get(ASK, (o) => (o.responses = { 200: { description: 'x', content: { 'image/png': {} } } })),
  ],
  'a prompt that requires a header': [
    /the arguments of a prompt are parameters of its query, and "x-a" is required/,
    get(ASK, (o) => o.parameters.push({ name: 'x-a', in: 'header', required: true, schema: {} })),
  ],
  'one name twice': [
    /the resource "notes_about" is declared twice/,
    offer(ONE, { resource: { name: 'about', list: 'listNames' } }),
  ],
  'prompts listed twice': [
    /it lists prompts by two operations/,
    (d) => (d.paths['/api/notes/again/{name}'] = structuredClone(d.paths[EACH])),
  ],
  'a novel': [/a prompt's description has at most 4096/, get(ASK, (o) => (o.description = 'x'.repeat(5_000)))],
  'too many': [
    /it declares 130 resources, and at most 128 can be offered/,
    (d) => {
      for (let n = 0; n < 128; n++)
        d.paths[`/api/notes/about/${n}`] = {
          get: { ...d.paths[ABOUT].get, 'x-svc-mcp': { resource: { name: `about_${n}` } } },
        };
    },
  ],
};
for (const [what, [reason, change]] of Object.entries(MUTANTS))
  test(`${what} keeps the cassette out at the step tools`, async () => {
    const { step, message, problems } = await refusedWith(change);
    assert.is(step, 'tools', message);
    assert.match(message, reason);
    assert.ok(problems.length >= 1);
  });

test.run();
