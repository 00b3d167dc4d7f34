/** The tools for agents: one lists skills, one reads a skill. */
import { createRoute } from '@hono/zod-openapi';
import { readCursor, writeCursor } from '../../core/http/cursor.ts';
import { json, routes } from '../../core/http/routes.ts';
import { badBody, broken, unknownSkill } from './answers.ts';
import { callerOf, databaseOf, jsonBody } from './http.ts';
import { Key, listOf } from './list.ts';
import type { SkillsHttp } from './manifest.ts';
import { GetArguments, ListArguments, SkillAnswer, SkillHeads } from './model.ts';
import { noSkill } from './refused.ts';
import { listSkills, readSkill } from './store.ts';

const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const listTool = createRoute({
  method: 'post',
  path: '/api/skills/list',
  operationId: 'listSkillsTool',
  tags: ['tools'],
  summary: 'List skills',
  description:
    'Lists skills that were written or generated from past sessions, without their content: look here before a task that somebody ' +
    'may have done before. Narrow it down with q, then read one by its id with the get tool.',
  middleware: jsonBody(),
  request: { body: { required: true, content: { 'application/json': { schema: ListArguments } } } },
  responses: {
    200: json(SkillHeads, 'One page of skills'),
    ...badBody('"limit" Too big: expected number to be <=100'),
    ...broken,
  },
  'x-svc-mcp': { name: 'list', annotations: reading },
});

const getTool = createRoute({
  method: 'post',
  path: '/api/skills/get',
  operationId: 'getSkillTool',
  tags: ['tools'],
  summary: 'Read a skill',
  description:
    'Reads one skill whole, by the id that the list tool gave: what it does, when to use it, and its content in Markdown. A generated ' +
    'skill names the spans that say so for each of its claims.',
  middleware: jsonBody(),
  request: { body: { required: true, content: { 'application/json': { schema: GetArguments } } } },
  responses: {
    200: json(SkillAnswer, 'The skill'),
    ...badBody('"id" Invalid UUID'),
    ...unknownSkill('read'),
    ...broken,
  },
  'x-svc-mcp': { name: 'get', annotations: reading },
});

export const toolsApp = () =>
  routes<SkillsHttp>()
    .openapi(listTool, async (c) => {
      const { q, scope, sort, limit, cursor } = c.req.valid('json');
      const filter = { q, scope, caller: callerOf(c) };
      const list = listOf({ ...filter, sort });
      const page = await listSkills(databaseOf(c), filter, sort, readCursor(list, cursor, Key), limit);
      const items = page.items.map(
        ({ id, slug, name, description, type, version, tags, downloadCount, updatedAt }) => ({
          id,
          slug,
          name,
          description,
          type,
          version,
          tags,
          downloadCount,
          updatedAt,
        }),
      );
      return c.json({ items, ...(page.next ? { next_cursor: writeCursor(list, page.next) } : {}) }, 200);
    })
    .openapi(getTool, async (c) => {
      const skill = await readSkill(databaseOf(c), c.req.valid('json').id);
      if (!skill) throw noSkill('read');
      return c.json({ skill }, 200);
    });
