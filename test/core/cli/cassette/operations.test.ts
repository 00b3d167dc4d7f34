import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf } from '../../../../core/cli/cassette/operations.ts';

const test = suite('operations of a cassette');

const document = (paths: Record<string, object>, components: object = {}) =>
  operationsOf({ openapi: '3.1.0', paths, components } as Parameters<typeof operationsOf>[0]);

test('parameters and the members of a JSON body are inputs, through references and whoever declares them', () => {
  const [operation, ...others] = document(
    {
      '/v1/cassettes/notes/{id}': {
        parameters: [
          { name: 'id', in: 'path', schema: { type: 'string' } },
          { name: 'limit', in: 'query', schema: { type: 'string' } },
        ],
        put: {
          operationId: 'changeNote',
          summary: 'Changes\n a note',
          parameters: [{ $ref: '#/components/parameters/Limit' }, { name: 'session', in: 'cookie' }],
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Note' } } } },
        },
      },
    },
    {
      parameters: { Limit: { name: 'limit', in: 'query', required: true, schema: { type: 'integer' } } },
      schemas: {
        Note: {
          type: 'object',
          required: ['text'],
          properties: {
            text: { type: 'string', description: 'what it says' },
            tags: { type: 'array', items: { type: 'string' } },
            kind: { enum: ['short', 'long'] },
            place: { type: ['object', 'null'] },
            done: { type: ['boolean', 'null'] },
          },
        },
      },
    },
  );
  assert.equal(others, []);
  assert.is(operation?.name, 'change-note');
  assert.is(operation?.summary, 'Changes a note');
  assert.equal(
    operation?.inputs.map(({ name, in: place, required, type }) => `${place} ${name}: ${type}${required ? '!' : ''}`),
    [
      'path id: string!',
      'query limit: number!',
      'body text: string!',
      'body tags: list',
      'body kind: string',
      'body place: json',
      'body done: boolean',
    ],
  );
});

test('an operation without an id is called by its method and path; references that lead nowhere or round are no input', () => {
  const loop = { $ref: '#/components/schemas/Loop' };
  const operations = document(
    {
      '/v1/cassettes/notes/all/old': {
        get: { parameters: [{ $ref: '#/nowhere' }, { name: 'x', in: 'query', schema: loop }] },
        post: { requestBody: { content: { 'text/plain': {} } } },
        summary: 'no operation',
      },
    },
    { schemas: { Loop: loop } },
  );
  assert.equal(
    operations.map(({ name, body, inputs }) => [name, body, inputs.map((input) => `${input.name}: ${input.type}`)]),
    [
      ['get-all-old', 'none', ['x: json']],
      ['post-all-old', 'other', []],
    ],
  );
});

test.run();
