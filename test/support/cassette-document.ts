/** The manifest and the OpenAPI document of a cassette that is admitted, for tests that change one part each. */
import type { Json } from './read-api.ts';

export const goodManifest = (): Json => ({
  kind: 'svc.cassette/v1',
  cassette: { name: 'notes', version: '1.0.0', display_name: 'Notes', homepage: 'https://example.com/notes' },
  depends: { core: 'v1', views: ['spans', 'sessions'], extensions: ['vector'] },
  bindings: { db: true },
  tables: [{ name: 'notes' }, { name: 'authors' }],
  config: [
    { key: 'model.name', type: 'string', default: 'small', enum: ['small', 'large'], description: 'which model' },
    { key: 'api_key', type: 'string', secret: true, required: true },
    { key: 'top', type: 'int', min: 1, max: 100, default: 5 },
    { key: 'every', type: 'duration', default: '30s' },
    { key: 'verbose', type: 'bool' },
    { key: 'extra', type: 'json', default: { a: [1] } },
  ],
  schedule: { every_seconds: 60 },
});

/** With the features that fail most easily: references into each other, recursion, a discriminator, examples that look like references. */
export const goodDocument = (): Json => ({
  openapi: '3.1.0',
  info: { title: 'Notes', version: '1.0.0', description: 'Notes on sessions' },
  servers: [{ url: 'https://elsewhere.example' }],
  security: [{ key: [] }],
  'x-svc-cassette': goodManifest(),
  paths: {
    '/ping': { get: { responses: { 200: { description: 'It is well' } } } },
    '/openapi': { get: { responses: { 200: { description: 'This document' } } } },
    '/api/notes': {
      get: {
        operationId: 'listNotes',
        summary: 'Notes, the newest first',
        security: [],
        parameters: [{ $ref: '#/components/parameters/Limit' }],
        responses: {
          200: {
            description: 'Notes',
            content: {
              'application/json': {
                schema: { type: 'array', items: { $ref: '#/components/schemas/Note' } },
                example: [{ kind: 'text', text: 'x', $ref: '#/not/a/reference' }],
              },
            },
            links: { one: { operationRef: '#/paths/~1api~1notes~1%7Bid%7D/get' }, other: { operationId: 'readNote' } },
          },
          400: { $ref: '#/components/responses/Bad' },
        },
      },
    },
    '/api/notes/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      servers: [{ url: 'https://elsewhere.example' }],
      get: {
        operationId: 'readNote',
        summary: 'One note',
        responses: {
          200: {
            description: 'The note',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Note' } } },
          },
          404: { $ref: '#/components/responses/Bad' },
        },
      },
      delete: {
        summary: 'Deletes a note',
        responses: { 204: { description: 'It is gone' }, 404: { $ref: '#/components/responses/Bad' } },
      },
    },
    '/api/notes/find': {
      post: {
        operationId: 'findNotes',
        summary: 'Finds notes',
        description: 'Finds notes that have a word in them.',
        'x-svc-mcp': { name: 'find', annotations: { readOnlyHint: true }, anything: 'else' },
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Query' } } },
        },
        responses: {
          200: {
            description: 'What was found',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['notes'],
                  properties: {
                    notes: { type: 'array', items: { $ref: '#/components/schemas/Note' } },
                    first: { $ref: '#/components/schemas/Query/properties/words/items' },
                  },
                },
              },
            },
          },
          400: { $ref: '#/components/responses/Bad' },
        },
      },
    },
  },
  components: {
    securitySchemes: {
      bearer: { type: 'apiKey', in: 'header', name: 'x-other' },
      key: { type: 'apiKey', in: 'header', name: 'x-key' },
    },
    parameters: {
      Limit: { name: 'limit', in: 'query', description: 'at most', schema: { type: 'integer', examples: [5] } },
    },
    responses: {
      Bad: {
        description: 'Not like that',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
    schemas: {
      Problem: { type: 'object', required: ['error'], properties: { error: { type: 'string' } } },
      Query: {
        type: 'object',
        required: ['words'],
        properties: { words: { type: 'array', items: { type: 'string', minLength: 1 } } },
        additionalProperties: false,
      },
      Note: {
        oneOf: [{ $ref: '#/components/schemas/Text' }, { $ref: '#/components/schemas/Group' }],
        discriminator: { propertyName: 'kind', mapping: { text: 'Text' } },
      },
      Text: {
        type: 'object',
        required: ['kind', 'text'],
        properties: { kind: { const: 'text' }, text: { type: 'string', default: { $ref: '#/no' } } },
        examples: [{ kind: 'text', text: 'x' }],
      },
      Group: {
        type: 'object',
        required: ['kind'],
        properties: {
          kind: { const: 'Group' },
          $ref: { type: 'string' },
          notes: { type: 'array', items: { $ref: '#/components/schemas/Note' } },
        },
      },
    },
  },
});

/** The valid document after a change, as bytes on the wire. */
export const documentWith = (change: (document: Json) => void = () => {}): string => {
  const document = goodDocument();
  change(document);
  return JSON.stringify(document);
};
