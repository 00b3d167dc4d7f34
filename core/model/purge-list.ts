/** The list of sessions that a purge by project or time would remove, and the purge of turns that were set aside. */
import { z } from '@hono/zod-openapi';
import { Attribute, Bound, boundSchema } from './filter.ts';
import { Id } from './page.ts';

export const PurgeListQuery = z.object({
  session_id: Id.optional().describe('only this one, if it has raw turns'),
  project: Attribute.openapi({ type: 'string', description: 'sessions of this project' }),
  before: Bound.openapi(boundSchema('sessions that were last seen before')),
  since: Bound.openapi(boundSchema('sessions that began then or later')),
  after: Id.optional().describe('the id of the last session of the page before'),
});

export const PurgeList = z
  .object({
    items: z.array(
      z.object({
        session_id: z.uuid(),
        title: z.string().nullable(),
        project: z.string(),
        started_at: z.string(),
        last_seen_at: z.string(),
        raw_turns: z.int(),
        deleted: z.boolean().describe('it is hidden, and its turns are there'),
      }),
    ),
    next: z.uuid().nullable().describe('`after` of the next page; null: this is the last'),
  })
  .openapi('PurgeList', {
    examples: [
      {
        items: [
          {
            session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
            title: 'Test dates at the harbour',
            project: 'ferrybook',
            started_at: '2026-11-21T09:00:00.000000Z',
            last_seen_at: '2026-11-21T09:12:00.000000Z',
            raw_turns: 9,
            deleted: false,
          },
        ],
        next: null,
      },
    ],
  });

export const PurgeParkedRequest = z
  .strictObject({ ids: z.array(z.string().max(200)).min(1).max(1_000).describe('their `svc_proxy_request_id`') })
  .openapi('PurgeParked', { examples: [{ ids: ['0198c0de-0000-7000-8000-000000000001'] }] });

export const ParkedPurged = z
  .object({ parked_turns: z.int(), rewritten: z.boolean().describe('as of the purge of a session') })
  .openapi('ParkedPurged', { examples: [{ parked_turns: 1, rewritten: true }] });
