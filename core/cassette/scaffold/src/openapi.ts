/** The document, OpenAPI 3.1. Every path that callers may use is here, with its responses; /ping and /openapi need not be. */

const problem = {
  description: 'A failure, with the reason',
  content: {
    'application/problem+json': {
      schema: {
        type: 'object',
        required: ['status', 'detail', 'error'],
        properties: { status: { type: 'integer' }, detail: { type: 'string' }, error: { type: 'string' } },
      },
    },
  },
};

const session = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    display_title: { type: 'string' },
    turn_count: { type: 'integer' },
    total_cost_usd: { type: ['number', 'null'] },
  },
};

const count = {
  type: 'object',
  properties: { counted_at: { type: 'string', format: 'date-time' }, sessions: { type: 'integer' } },
};

export const openapi = {
  openapi: '3.1.0',
  info: { title: 'my-cassette', version: '0.1.0' },
  paths: {
    '/api/my-cassette/sessions': {
      get: {
        operationId: 'listSessions',
        summary: 'All sessions, the oldest first, one line of JSON each',
        responses: {
          200: { description: 'Sessions', content: { 'application/x-ndjson': { schema: session } } },
          500: problem,
        },
      },
    },
    '/api/my-cassette/counts': {
      get: {
        operationId: 'listCounts',
        summary: 'How many sessions there were, the newest count first',
        responses: {
          200: {
            description: 'Counts',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['counts'],
                  properties: { counts: { type: 'array', items: count } },
                },
              },
            },
          },
          500: problem,
        },
      },
    },
    '/api/my-cassette/longest': {
      // A tool takes POST, one JSON object in and one out, and no parameters. Agents read the summary and the descriptions.
      post: {
        operationId: 'findLongest',
        summary: 'The recorded sessions with the most turns',
        'x-svc-mcp': { name: 'longest', annotations: { readOnlyHint: true } },
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                additionalProperties: false,
                properties: {
                  limit: { type: 'integer', minimum: 1, maximum: 50, default: 5, description: 'How many sessions' },
                },
              },
            },
          },
        },
        responses: {
          200: {
            description: 'The longest sessions',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['sessions'],
                  properties: {
                    sessions: {
                      type: 'array',
                      items: {
                        type: 'object',
                        required: ['id', 'title', 'turns'],
                        properties: {
                          id: { type: 'string', format: 'uuid' },
                          title: { type: ['string', 'null'] },
                          turns: { type: 'integer' },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
          422: problem,
          500: problem,
        },
      },
    },
  },
};
