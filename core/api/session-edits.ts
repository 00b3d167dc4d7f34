/** PATCH and DELETE /v1/sessions/{id}: renames, stars or hides a session. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { storable } from '../derive/storable.ts';
import { Refusal } from '../errors.ts';
import { optionalBody } from '../http/optional-body.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import { Id } from '../model/page.ts';
import { SessionAnswer, shownSession } from '../model/session.ts';
import { SessionEdit } from '../model/session-edit.ts';
import { sessionOf } from './sessions.ts';

const unknown = (what: string) =>
  ['session-unknown', `Cannot ${what} the session: there is none with this id`] as const;

const renameSession = createRoute({
  method: 'patch',
  path: '/v1/sessions/{id}',
  operationId: 'renameSession',
  tags: ['sessions'],
  summary: 'Gives a session a name of your own or a star, or takes them away; both outlive whatever is derived',
  middleware: optionalBody(), // the body is required; this makes its errors the same as elsewhere
  request: {
    params: z.object({ id: Id }),
    body: { required: true, content: { 'application/json': { schema: SessionEdit } } },
  },
  responses: {
    200: json(SessionAnswer, 'The session, as it is shown now'),
    400: json(Failure, 'The body is no such object, or the name is too long', [
      'bad-request',
      'Cannot read the body: must have "display_name", "starred" or both',
    ]),
    404: json(Failure, 'No such session, or it is deleted', unknown('edit')),
    413: json(Failure, 'The body is too large'),
    415: json(Failure, 'The body is not JSON'),
    ...guarded,
  },
});

const deleteSession = createRoute({
  method: 'delete',
  path: '/v1/sessions/{id}',
  operationId: 'deleteSession',
  tags: ['sessions'],
  summary: 'Hides a session for good',
  description:
    'It is shown nowhere and counted nowhere any more, though turns of it come in later and though everything is derived again. ' +
    'Its raw turns stay in the log, with all that was said in them: POST /v1/admin/sessions/{id}/purge removes those.',
  request: { params: z.object({ id: Id }) },
  responses: {
    204: { description: 'It is hidden' },
    404: json(Failure, 'No such session, or it is deleted already', unknown('delete')),
    ...guarded,
  },
});

/** @param now milliseconds since 1970, for what is live */
export const sessionEditsApp = ({ execute, now }: { execute: Database['execute']; now: () => number }) =>
  routes()
    .openapi(renameSession, async (c) => {
      const session_id = c.req.valid('param').id;
      const { display_name, starred } = c.req.valid('json');
      const edits = {
        ...(display_name === undefined ? {} : { display_name: nameOf(display_name) }),
        ...(starred === undefined ? {} : { starred }),
      };
      if (!(await execute('editSession', { session_id, edits }))) throw new Refusal(...unknown('edit'));
      return c.json({ session: shownSession(await sessionOf(execute, session_id), now()) }, 200);
    })
    .openapi(deleteSession, async (c) => {
      if (!(await execute('deleteSession', { session_id: c.req.valid('param').id })))
        throw new Refusal(...unknown('delete'));
      return c.body(null, 204);
    });

/** null: it has none. */
const nameOf = (requested: string | null): string | null => (requested ? storable(requested) : null);
