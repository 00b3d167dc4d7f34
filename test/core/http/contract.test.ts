import { createRoute, z } from '@hono/zod-openapi';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { contractOf, seal } from '../../../core/http/contract.ts';
import { Failure, json, routes } from '../../../core/http/routes.ts';

const test = suite('contract');

type Variant = {
  summary?: string;
  answer?: string;
  about?: string; // doc comment of a schema
  aboutField?: string; // of a field that refers to another schema
  aboutParameter?: string;
  example?: string;
  parameter?: string;
  statuses?: readonly (400 | 404)[];
  field?: string;
};

/** A small contract, told in different words. */
const document = (variant: Variant = {}, version = '1.0.0') => {
  const Owner = z.object({ name: z.string(), description: z.string() }).openapi('Owner');
  const Thing = z
    .object({
      [variant.field ?? 'id']: z.string(),
      title: z.string(),
      owner: variant.aboutField ? Owner.describe(variant.aboutField) : Owner,
    })
    .openapi('Thing', {
      ...(variant.about ? { description: variant.about } : {}),
      ...(variant.example ? { example: variant.example } : {}),
    });
  const limit = z.string().optional();
  const route = createRoute({
    method: 'get',
    path: '/things',
    summary: variant.summary ?? 'All things',
    request: {
      query: z.object({
        [variant.parameter ?? 'limit']: variant.aboutParameter ? limit.describe(variant.aboutParameter) : limit,
      }),
    },
    responses: {
      200: json(Thing, variant.answer ?? 'A thing'),
      ...Object.fromEntries((variant.statuses ?? [400]).map((status) => [status, json(Failure, 'No')])),
    },
  });
  const app = routes().openapi(route, (c) =>
    c.json({ id: '', title: '', owner: { name: '', description: '' } } as never, 200),
  );
  return contractOf(app, { title: 'things', version });
};

const sealed = seal(document());

test('is the same each time it is compiled', () => {
  assert.equal(document(), document());
  assert.is(seal(document()), sealed);
  assert.match(sealed, /^sha256:[0-9a-f]{64}$/);
});

test('doc comments, examples and the version do not move the seal', () => {
  assert.is(seal(document({ about: 'Something one can have' })), sealed);
  assert.is(seal(document({ aboutField: 'Who has it' })), sealed);
  assert.is(seal(document({ aboutParameter: 'How many' })), sealed);
  assert.is(seal(document({ example: 'x' })), sealed);
  assert.is(seal(document({}, '2.0.0')), sealed);
  assert.is(seal({ ...document(), servers: [{ url: 'http://localhost' }] }), sealed);
});

test('text that stands on a route moves it', () => {
  assert.is.not(seal(document({ summary: 'Every thing' })), sealed);
  assert.is.not(seal(document({ answer: 'One thing' })), sealed);
});

test('a parameter, a status and a field move it, also where a field is called like a keyword', () => {
  assert.is.not(seal(document({ parameter: 'size' })), sealed);
  assert.is.not(seal(document({ statuses: [400, 404] })), sealed);
  assert.is.not(seal(document({ statuses: [] })), sealed);
  assert.is.not(seal(document({ field: 'key' })), sealed);
  assert.is.not(seal(document({ field: 'description' })), sealed);
});

test('failures are problems', () => {
  const { paths } = document() as unknown as {
    paths: Record<string, { get: { responses: Record<string, { content: object }> } }>;
  };
  const responses = paths['/things']?.get.responses;
  assert.equal(Object.keys(responses?.['400']?.content ?? {}), ['application/problem+json']);
  assert.equal(Object.keys(responses?.['200']?.content ?? {}), ['application/json']);
});

test.run();
