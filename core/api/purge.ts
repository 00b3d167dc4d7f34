/** POST /v1/admin/sessions/{id}/purge: deletes a session's bytes from the log, for example when a secret was pasted into it. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { storable } from '../derive/storable.ts';
import { Refusal } from '../errors.ts';
import { optionalBody } from '../http/optional-body.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import { Id } from '../model/page.ts';
import { Purged, PurgeRequest } from '../model/purge.ts';

const UNKNOWN = ['session-unknown', 'Cannot purge the session: there is none with this id'] as const;

const purge = createRoute({
  method: 'post',
  path: '/v1/admin/sessions/{id}/purge',
  operationId: 'purgeSession',
  tags: ['operator'],
  summary: 'Deletes the raw turns of a session and all that was made of them; there is no way back',
  description:
    'What goes: the raw turns that count for the session as corrections have it (those that a correction gave to another session ' +
    'stay there), the pieces of their bytes that no other turn needs, traces, spans, nodes, rollup and name, and what cassettes keep ' +
    'of the session in the same database by its `session_id`, such as embeddings, or made of it and nobody edited since, such as ' +
    'generated skills. The session is hidden from then on. What stays: a ' +
    'tombstone for each turn, with its place in the chain, its hash, the reason and the time, by which `svc verify` explains the gap; ' +
    'the counts of coverage; and what other sessions hold of the same words, such as a fork of the conversation or a sub-agent, ' +
    'which are sessions of their own. A client that goes on with the conversation sends all of it again: end it first, or purge ' +
    'again afterwards. What a cassette keeps in another database (`vector_store.target`), or is making at that moment, goes with its ' +
    'next background run. Not reached: what people edited, such as a skill, which `made_of_it` names so that they can look into it; what ' +
    'was copied by hand; backups, replicas and the write-ahead log of a database server; turns that were set aside unread (svc.parked_turns); the piece of the journal that is being written, ' +
    'which is deleted when it is full or after the next start.',
  middleware: optionalBody(),
  request: {
    params: z.object({ id: Id }),
    body: { required: false, content: { 'application/json': { schema: PurgeRequest } } },
  },
  responses: {
    200: json(Purged, 'What went; zeros when there was nothing left'),
    400: json(Failure, 'The body is no such object', ['bad-request', 'Cannot read the body: Unrecognized key: "all"']),
    404: json(Failure, 'There was never such a session', UNKNOWN),
    413: json(Failure, 'The body is too large'),
    415: json(Failure, 'The body is not JSON'),
    ...guarded,
  },
});

const NO_REASON = 'none given';

export const purgeApp = ({ execute }: { execute: Database['execute'] }) =>
  routes().openapi(purge, async (c) => {
    const session_id = c.req.valid('param').id.toLowerCase();
    const reason = storable(c.req.valid('json').reason ?? '') || NO_REASON;
    const { purgeSession } = await import('../engine/purge-session.ts'); // rarely needed, so not loaded at the start
    const purged = await purgeSession(execute, { session_id, reason });
    if (!purged) throw new Refusal(...UNKNOWN);
    const rewritten = c.req.valid('json').sweep !== false && (await execute('sweepPurged', {}));
    return c.json({ session_id, ...purged, rewritten }, 200);
  });
