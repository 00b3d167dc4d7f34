/** POST /api/skills, and all operations on one skill: read, change, delete, duplicate. Only deleting checks who the caller is. */
import { createRoute } from '@hono/zod-openapi';
import { Failure, json, routes } from '../../core/http/routes.ts';
import { badBody, broken, OneSkill, unknownSkill } from './answers.ts';
import { callerOf, databaseOf, jsonBody } from './http.ts';
import type { SkillsHttp } from './manifest.ts';
import { Skill, SkillCreation, SkillUpdate } from './model.ts';
import { noSkill, SkillRefusal } from './refused.ts';
import { createSkill, deleteSkill, duplicateSkill, readSkill, updateSkill } from './store.ts';

const wrongType = '"type" Invalid option: expected one of "workflow"|"domain-knowledge"|"prompt-template"';

const create = createRoute({
  method: 'post',
  path: '/api/skills',
  operationId: 'createSkill',
  tags: ['skills'],
  summary: 'Creates a skill from scratch; the caller is its creator',
  middleware: jsonBody(),
  request: { body: { required: true, content: { 'application/json': { schema: SkillCreation } } } },
  responses: { 201: json(Skill, 'The skill'), ...badBody(wrongType), ...broken },
});

const read = createRoute({
  method: 'get',
  path: '/api/skills/{id}',
  operationId: 'readSkill',
  tags: ['skills'],
  summary: 'One skill',
  request: { params: OneSkill },
  responses: { 200: json(Skill, 'The skill'), ...unknownSkill('read'), ...broken },
});

const update = createRoute({
  method: 'put',
  path: '/api/skills/{id}',
  operationId: 'updateSkill',
  tags: ['skills'],
  summary: 'Changes the editable head; what was published stays as it is',
  middleware: jsonBody(),
  request: {
    params: OneSkill,
    body: { required: true, content: { 'application/json': { schema: SkillUpdate } } },
  },
  responses: {
    200: json(Skill, 'The skill as it is now'),
    ...badBody(wrongType),
    ...unknownSkill('change'),
    ...broken,
  },
});

const remove = createRoute({
  method: 'delete',
  path: '/api/skills/{id}',
  operationId: 'deleteSkill',
  tags: ['skills'],
  summary: 'Deletes a skill with its history; one that has a creator is deleted by that creator only',
  request: { params: OneSkill },
  responses: {
    204: { description: 'It is gone' },
    403: json(Failure, 'Somebody else made it', ['creator-mismatch', 'Cannot delete the skill: only its creator may']),
    ...unknownSkill('delete'),
    ...broken,
  },
});

const duplicate = createRoute({
  method: 'post',
  path: '/api/skills/{id}/duplicate',
  operationId: 'duplicateSkill',
  tags: ['skills'],
  summary: 'Makes a skill of its own out of the head of another, under a fresh id and without its history',
  request: { params: OneSkill },
  responses: { 201: json(Skill, 'The new skill'), ...unknownSkill('duplicate'), ...broken },
});

export const headsApp = () =>
  routes<SkillsHttp>()
    .openapi(create, async (c) => {
      const { name = '', ...rest } = c.req.valid('json');
      const named = name.trim() === '' ? 'New skill' : name.trim();
      return c.json(await createSkill(databaseOf(c), { ...rest, name: named, authorId: callerOf(c) }), 201);
    })
    .openapi(read, async (c) => {
      const skill = await readSkill(databaseOf(c), c.req.valid('param').id);
      if (!skill) throw noSkill('read');
      return c.json(skill, 200);
    })
    .openapi(update, async (c) => {
      const body = c.req.valid('json');
      const update = { ...body, name: body.name?.trim() };
      const skill = await updateSkill(databaseOf(c), c.req.valid('param').id, update);
      if (!skill) throw noSkill('change');
      return c.json(skill, 200);
    })
    .openapi(remove, async (c) => {
      const outcome = await deleteSkill(databaseOf(c), c.req.valid('param').id, callerOf(c));
      if (outcome === 'unknown') throw noSkill('delete');
      if (outcome === 'forbidden')
        throw new SkillRefusal('creator-mismatch', 'Cannot delete the skill: only its creator may');
      return c.body(null, 204);
    })
    .openapi(duplicate, async (c) => {
      const skill = await duplicateSkill(databaseOf(c), c.req.valid('param').id, callerOf(c));
      if (!skill) throw noSkill('duplicate');
      return c.json(skill, 201);
    });
