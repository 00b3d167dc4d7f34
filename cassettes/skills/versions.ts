/** /api/skills/{id}/versions: lists the published versions of a skill, and publishes another. A version is never changed again. */
import { createHash } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { elements, jsonStream } from '../../core/http/json-stream.ts';
import { Failure, type HttpEnv, json, routes } from '../../core/http/routes.ts';
import { badBody, broken, OneSkill, unknownSkill } from './answers.ts';
import { callerOf, databaseOf, jsonBody } from './http.ts';
import type { SkillsHttp } from './manifest.ts';
import { Publication, Version, Versions } from './model.ts';
import { noSkill, SkillRefusal } from './refused.ts';
import { publishVersion, versionsOf } from './version-store.ts';

const history = createRoute({
  method: 'get',
  path: '/api/skills/{id}/versions',
  operationId: 'listSkillVersions',
  tags: ['skills'],
  summary: 'The published history, the newest version first; none of a skill that is not there',
  request: { params: z.object({ id: z.string().openapi({ examples: ['0b5e3d1c-9a57-4c0e-8f42-3f1d2e4a5b6c'] }) }) },
  responses: { 200: json(Versions, 'Every version'), ...broken },
});

const IdempotencyKey = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('a word of your own for this publication: sent again with the same body, the same version is answered'),
});

const publish = createRoute({
  method: 'post',
  path: '/api/skills/{id}/versions',
  operationId: 'publishSkillVersion',
  tags: ['skills'],
  summary: 'Publishes an immutable snapshot of the head under the next number, and moves the head to it',
  description:
    'After a 500 it may have been published all the same. With an Idempotency-Key it is safe to ask again; without one, read the ' +
    'versions first.',
  middleware: jsonBody({ optional: true }),
  request: {
    params: OneSkill,
    headers: IdempotencyKey,
    body: { required: false, content: { 'application/json': { schema: Publication } } },
  },
  responses: {
    201: json(Version, 'The version'),
    ...badBody('"changelog" Invalid input: expected string, received number'),
    ...unknownSkill('publish'),
    422: json(Failure, 'The Idempotency-Key was sent before, with another body', [
      'idempotency-key-reused',
      'Cannot publish the skill: this Idempotency-Key was sent before, with another body',
    ]),
    ...broken,
  },
});

export const versionsApp = () =>
  routes<SkillsHttp>()
    .openapi(history, (c) => {
      const { id } = c.req.valid('param');
      const db = databaseOf(c);
      const versions = z.uuid().safeParse(id).success ? versionsOf(db, id) : none();
      return jsonStream<never>(
        c as unknown as Context<HttpEnv>,
        versionsDocument(versions),
        c.env.LOG as unknown as Parameters<typeof jsonStream>[2],
      );
    })
    .openapi(publish, async (c) => {
      const { content, changelog } = c.req.valid('json');
      const version = await publishVersion(databaseOf(c), c.req.valid('param').id, {
        ...{ content, changelog, authorId: callerOf(c) },
        idempotencyKey: c.req.valid('header')['idempotency-key'] ?? null,
        fingerprint: createHash('sha256')
          .update(JSON.stringify([content ?? null, changelog]))
          .digest('hex'),
      });
      if (!version) throw noSkill('publish');
      if (version === 'reused')
        throw new SkillRefusal(
          'idempotency-key-reused',
          'Cannot publish the skill: this Idempotency-Key was sent before, with another body',
        );
      return c.json(version, 201);
    });

async function* none(): AsyncGenerator<Version, void> {}

async function* versionsDocument(versions: AsyncGenerator<Version, void>): AsyncGenerator<string, void> {
  let totalCount = 0;
  async function* counted() {
    for await (const version of versions) {
      totalCount += 1;
      yield version;
    }
  }
  yield '{"versions":[';
  yield* elements(counted());
  yield `],"totalCount":${totalCount}}`;
}
