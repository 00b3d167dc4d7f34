/** POST /v1/admin/raw-turns/attribution-repair: a turn that was booked to the wrong session comes to count for the right one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRoute } from '@hono/zod-openapi';
import type { z } from 'zod';
import { boundedId } from '../capture/identity.ts';
import type { Database, OperationResult } from '../db/database.ts';
import { storable } from '../derive/storable.ts';
import { DatabaseError, Refusal } from '../errors.ts';
import { traceOf } from '../http/failure.ts';
import { optionalBody } from '../http/optional-body.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import type { Logger } from '../log.ts';
import {
  type Attribution,
  AttributionRepair,
  AttributionRepaired,
  repairedExample,
} from '../model/attribution-repair.ts';

const UNKNOWN = ['raw-turn-unknown', 'Cannot repair the raw turn: there is none with this id'] as const;

const repair = createRoute({
  method: 'post',
  path: '/v1/admin/raw-turns/attribution-repair',
  operationId: 'repairAttribution',
  tags: ['operator'],
  summary: 'Lets a raw turn count for another session or thread, and derives both sessions anew',
  description:
    'The turn stays as it is; a correction is appended that says whom it counts for, why and since when, and the newest one counts. ' +
    'Its attribution is given whole: what is left out is none. Ids of traces and spans do not change. A session that has no turn ' +
    'left and is parent of none is told nowhere any more until a turn of it comes; one that somebody deleted stays deleted. Asked ' +
    'for what is so already, nothing is recorded, and both sessions are derived all the same.',
  middleware: optionalBody(), // it has to be there, but what is wrong with it is said as elsewhere
  request: { body: { required: true, content: { 'application/json': { schema: AttributionRepair } } } },
  responses: {
    200: json(AttributionRepaired, 'It counts so, and both sessions read so', {
      ...repairedExample,
      source_cleanup_pending: true,
    }),
    202: json(
      AttributionRepaired,
      'It counts so; sessions that still read as before are named. Asking again is no help',
      {
        ...repairedExample,
        projections_pending: [
          {
            session_id: repairedExample.effective.session_id,
            harness_id: repairedExample.effective.harness_id,
            harness_session_id: repairedExample.effective.harness_session_id,
          },
        ],
      },
    ),
    400: json(Failure, 'The body is no such object, names no turn or two, or a session as its own parent', [
      'bad-request',
      'Cannot read the body: name the turn by raw_turn_id or by svc_proxy_request_id, by one of them',
    ]),
    404: json(Failure, 'No such raw turn', UNKNOWN),
    409: json(Failure, 'The raw turn is one part of several that belong together', [
      'raw-turn-inseparable',
      'Cannot repair the raw turn: it is one of several parts of a transcript, which would be whole in neither session',
    ]),
    413: json(Failure, 'The body is too large'),
    415: json(Failure, 'The body is not JSON'),
    ...guarded,
  },
});

const PATIENCE_MS = 10_000;
const POLL_MS = { first: 20, most: 500 };

/** @param patienceMs how long the two sessions are waited for */
export const attributionRepairApp = ({
  execute,
  log,
  patienceMs = PATIENCE_MS,
}: {
  execute: Database['execute'];
  log: Logger;
  patienceMs?: number;
}) =>
  routes().openapi(repair, async (c) => {
    const repaired = await execute('repairAttribution', wantedIn(c.req.valid('json')));
    if (!repaired) throw new Refusal(...UNKNOWN);
    const { recorded, previous, effective } = repaired;
    const behind = await stillBehind(execute, repaired, patienceMs);
    const cleanup = await emptied(execute, log, repaired);
    const answer: AttributionRepaired = { recorded, previous: shown(previous), effective: shown(effective) };
    if (cleanup === 'failed') answer.source_cleanup_pending = true;
    const pending = [...new Map([previous, effective].map((one) => [one.session_id, one])).values()]
      .filter(({ session_id }) => behind.has(session_id))
      .filter(({ session_id }) => cleanup !== 'removed' || session_id !== previous.session_id)
      .map(({ session_id, harness_id, harness_session_id }) => ({ session_id, harness_id, harness_session_id }));
    return pending.length > 0 ? c.json({ ...answer, projections_pending: pending }, 202) : c.json(answer, 200);
  });

type Repaired = NonNullable<OperationResult<'repairAttribution'>>;

/** The ids of sessions are those under which intake would have filed the turn. */
const wantedIn = (body: z.infer<typeof AttributionRepair>) => ({
  raw_turn_id: body.raw_turn_id ?? null,
  svc_proxy_request_id: body.svc_proxy_request_id === undefined ? null : storable(body.svc_proxy_request_id),
  harness_id: boundedId(storable(body.harness_id)),
  harness_session_id: boundedId(storable(body.harness_session_id)),
  thread_id: boundedId(storable(body.thread_id ?? '')),
  parent_harness_session_id:
    body.parent_harness_session_id === undefined ? null : boundedId(storable(body.parent_harness_session_id)),
  reason: storable(body.reason),
});

const shown = ({ parent_harness_session_id, ...names }: Repaired['previous']): Attribution =>
  parent_harness_session_id === null ? names : { ...names, parent_harness_session_id };

/** Which sessions do not read right when the time is over, or nothing more will come of waiting? The correction stands in any case. */
async function stillBehind(
  execute: Database['execute'],
  { previous, effective, marked_at }: Repaired,
  patienceMs: number,
): Promise<Set<string>> {
  const session_ids = [...new Set([previous.session_id, effective.session_id])];
  const until = performance.now() + patienceMs;
  let behind = new Set(session_ids);
  for (let ms = POLL_MS.first; ; ms = Math.min(ms * 2, POLL_MS.most)) {
    const left = await orUnanswered(execute('repairPending', { session_ids, marked_at }));
    if (left) behind = new Set(left.map(({ session_id }) => session_id));
    const hopeless = left?.every(({ parked }) => parked) ?? false; // of none too
    if (hopeless || performance.now() >= until) return behind;
    await sleep(ms);
  }
}

/** Null when the database is away: whoever waits asks again. */
const orUnanswered = <T>(asked: Promise<T>): Promise<T | null> =>
  asked.catch((error: unknown) => {
    if (error instanceof DatabaseError && error.transient) return null;
    throw error;
  });

/** What has become of the session that the turn was taken from? */
async function emptied(
  execute: Database['execute'],
  log: Logger,
  { previous, effective }: Repaired,
): Promise<'kept' | 'removed' | 'failed'> {
  if (previous.session_id === effective.session_id) return 'kept';
  try {
    return (await execute('removeEmptied', { session_id: previous.session_id })) ? 'removed' : 'kept';
  } catch (error) {
    log.warn({ session_id: previous.session_id, ...traceOf(error) }, 'a session without turns is still in the lists');
    return 'failed';
  }
}
