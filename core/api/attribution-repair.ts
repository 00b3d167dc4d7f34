/** POST /v1/admin/raw-turns/attribution-repair: attributes a raw turn to another session or thread. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRoute } from '@hono/zod-openapi';
import type { z } from 'zod';
import { boundedId } from '../call/identity.ts';
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
import { openBackoff } from '../retry.ts';

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
  middleware: optionalBody(), // the body is required; this makes its errors the same as elsewhere
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

const WAIT_MS = 10_000;
const POLL = { firstMs: 20, maxMs: 500 };

/** @param waitMs how long to wait until both sessions are derived */
export const attributionRepairApp = ({
  execute,
  log,
  waitMs = WAIT_MS,
}: {
  execute: Database['execute'];
  log: Logger;
  waitMs?: number;
}) =>
  routes().openapi(repair, async (c) => {
    const repaired = await execute('repairAttribution', repairRequest(c.req.valid('json')));
    if (!repaired) throw new Refusal(...UNKNOWN);
    const { recorded, previous, effective } = repaired;
    const behind = await awaitDerivation(execute, repaired, waitMs);
    const cleanup = await removeIfEmptied(execute, log, repaired);
    const response: AttributionRepaired = {
      recorded,
      previous: shownAttribution(previous),
      effective: shownAttribution(effective),
    };
    if (cleanup === 'failed') response.source_cleanup_pending = true;
    const pending = [...new Map([previous, effective].map((one) => [one.session_id, one])).values()]
      .filter(({ session_id }) => behind.has(session_id))
      .filter(({ session_id }) => cleanup !== 'removed' || session_id !== previous.session_id)
      .map(({ session_id, harness_id, harness_session_id }) => ({ session_id, harness_id, harness_session_id }));
    return pending.length > 0 ? c.json({ ...response, projections_pending: pending }, 202) : c.json(response, 200);
  });

type Repaired = NonNullable<OperationResult<'repairAttribution'>>;

/** Session ids are made as intake makes them. */
const repairRequest = (body: z.infer<typeof AttributionRepair>) => ({
  raw_turn_id: body.raw_turn_id ?? null,
  svc_proxy_request_id: body.svc_proxy_request_id === undefined ? null : storable(body.svc_proxy_request_id),
  harness_id: boundedId(storable(body.harness_id)),
  harness_session_id: boundedId(storable(body.harness_session_id)),
  thread_id: boundedId(storable(body.thread_id ?? '')),
  parent_harness_session_id:
    body.parent_harness_session_id === undefined ? null : boundedId(storable(body.parent_harness_session_id)),
  reason: storable(body.reason),
});

const shownAttribution = ({ parent_harness_session_id, ...names }: Repaired['previous']): Attribution =>
  parent_harness_session_id === null ? names : { ...names, parent_harness_session_id };

/** Waits for both sessions. @returns those not derived when the time is over or all left are parked; the correction is stored in any case */
async function awaitDerivation(
  execute: Database['execute'],
  { previous, effective, marked_at }: Repaired,
  waitMs: number,
): Promise<Set<string>> {
  const session_ids = [...new Set([previous.session_id, effective.session_id])];
  const deadline = performance.now() + waitMs;
  let behind = new Set(session_ids);
  for (const poll = openBackoff(POLL); ; await sleep(poll.next())) {
    const pending = await nullIfTransient(execute('repairPending', { session_ids, marked_at }));
    if (pending) behind = new Set(pending.map(({ session_id }) => session_id));
    const allParked = pending?.every(({ parked }) => parked) ?? false; // true of an empty list too
    if (allParked || performance.now() >= deadline) return behind;
  }
}

/** Null when the database is not available: the caller polls again. */
const nullIfTransient = <T>(query: Promise<T>): Promise<T | null> =>
  query.catch((error: unknown) => {
    if (error instanceof DatabaseError && error.transient) return null;
    throw error;
  });

/** Removes the session that the turn was taken from, if it is empty now. @returns what became of it */
async function removeIfEmptied(
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
