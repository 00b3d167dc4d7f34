/** GET /api/skills: lists skills, in pages by a key, or all that were generated from one session. */
import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { readCursor, writeCursor } from '../../core/http/cursor.ts';
import { Failure, json, routes } from '../../core/http/routes.ts';
import { broken } from './answers.ts';
import { callerOf, databaseOf } from './http.ts';
import type { SkillsHttp } from './manifest.ts';
import { ListQuery, SkillPage, type SkillScope, type Sort } from './model.ts';
import { countSkills, listSkills, skillsOfSession } from './store.ts';

const list = createRoute({
  method: 'get',
  path: '/api/skills',
  operationId: 'listSkills',
  tags: ['skills'],
  summary: 'Skills, those updated last first or those downloaded most',
  request: { query: ListQuery },
  responses: {
    200: json(SkillPage, 'One page of skills'),
    400: json(
      Failure,
      'The limit is no positive whole number, or the cursor is malformed or of another sort, scope or search',
      ['bad-request', 'Cannot read the page: the cursor is broken'],
    ),
    ...broken,
  },
});

/** The key in a cursor. PostgreSQL has no year 0. */
export const Key = z.object({ at: z.iso.datetime().regex(/^(?!0000)/), downloads: z.int().min(0), id: z.uuid() });

/** The list that a cursor belongs to. @param caller whose skills `mine` are */
export const listOf = (list: { q: string | undefined; scope: SkillScope; sort: Sort; caller: string | null }) => ({
  route: '/api/skills',
  parameters: { q: list.q || undefined, scope: list.scope, sort: list.sort, caller: list.caller ?? undefined },
});

export const listApp = () =>
  routes<SkillsHttp>().openapi(list, async (c) => {
    const { limit, cursor, q, scope, sort, session_id } = c.req.valid('query');
    const filter = { q, scope, caller: callerOf(c) };
    const list = listOf({ ...filter, sort });
    const after = readCursor(list, cursor, Key);
    const db = databaseOf(c);
    if (session_id !== undefined && session_id !== '')
      return c.json({ items: await skillsOfSession(db, filter, sort, session_id) }, 200);
    const { items, next } = await listSkills(db, filter, sort, after, limit);
    const counts = await countSkills(db, filter);
    return c.json({ items, ...(next ? { next_cursor: writeCursor(list, next) } : {}), counts }, 200);
  });
