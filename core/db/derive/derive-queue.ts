/** The queue of sessions to derive, with a lease per session; no lock is held while a session is derived. */
import { type SQL, sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { takesWrites } from '../takes-writes.ts';

/** A session to derive. `mark` shows at the commit whether a turn came in meanwhile. */
export type Lease = {
  session_id: string;
  lease_token: string;
  mark: number;
  from_scratch: boolean; // its raw turns are to be read again first
  background: boolean;
  attempts: number;
};

/** A session that was parked because each process that derived it has ended. One that needs too much memory would end them for ever. */
export type Abandoned = Pick<Lease, 'session_id' | 'attempts'>;

/** What identifies a lease. */
export type LeaseKey = Pick<Lease, 'session_id' | 'lease_token'>;

/** Leases as a table `l` of a statement. */
export const leasesOf = (leases: readonly LeaseKey[]): SQL => sql`
  unnest(${pgArray(leases.map(({ session_id }) => session_id))}::uuid[],
         ${pgArray(leases.map(({ lease_token }) => lease_token))}::uuid[]) as l (session_id, lease_token)`;

/** Attempts after which a session waits for a new turn or for an operator. */
const MAX_ATTEMPTS = 8;
const PARKED_AT = sql`case when q.attempts + 1 >= ${MAX_ATTEMPTS} then now() end`;

/** Its holder has not given it back. */
const IS_ABANDONED = sql`q.lease_token is not null and q.leased_until < now()`;

/** 2, 4, 8 … 60 seconds. @param failures how often it has failed */
const afterFailures = (failures: SQL): SQL =>
  sql`now() + least(60, power(2, least(${failures}, 6))) * interval '1 second'`;

/** Noted as the error of a session whose lease nobody gave back. */
export const PROCESS_ENDED = 'ProcessEnded';

/** How long a session that was read comes first. */
const LOOKED_AT_FOR = sql`interval '1 minute'`;

/**
 * Leases sessions that are due and not parked: first those that somebody reads, then the newest, and with the other half of the limit
 * those that have waited longest, so that a backlog delays no new turn and is delayed by none for ever. Those of the background come
 * only on request, and last. An expired lease is taken over under a new token, and counts as a failed attempt: its process may have ended
 * because of the session.
 */
export const leaseDirty = (
  db: Sql,
  { limit, background, lease_ms }: { limit: number; background: boolean; lease_ms: number },
): Promise<Lease[]> =>
  db.transaction(async (tx) => {
    const due = sql`q.try_after > '-infinity' and q.try_after <= now()`;
    const looked = sql`q.looked_at > now() - ${LOOKED_AT_FOR}`;
    const leases = await lease(tx, sql`${looked} and q.try_after <= now()`, sql`q.looked_at desc`, limit, lease_ms);
    const take = async (rest: number, of: SQL, order: SQL) => {
      if (rest > 0) leases.push(...(await lease(tx, of, order, rest, lease_ms)));
    };
    await take(Math.ceil((limit - leases.length) / 2), due, sql`q.try_after desc`);
    await take(limit - leases.length, due, sql`q.try_after, q.session_id`);
    if (background) await take(Math.min(1, limit - leases.length), sql`q.try_after = '-infinity'`, sql`q.session_id`);
    return leases;
  });

const lease = (tx: Sql, due: SQL, order: SQL, limit: number, lease_ms: number) =>
  tx.rows<Lease>(sql`
    with due as materialized (
      select q.session_id, q.try_after
        from svc.derive_queue q
       where q.parked_at is null and (q.leased_until is null or q.leased_until < now()) and ${due}
         and (q.lease_token is null or q.attempts + 1 < ${MAX_ATTEMPTS})
       order by ${order}
       limit ${limit}
         for update skip locked)
    update svc.derive_queue q
       set leased_until = now() + ${lease_ms}::double precision * interval '1 millisecond',
           lease_token = gen_random_uuid(),
           attempts = q.attempts + case when ${IS_ABANDONED} then 1 else 0 end,
           error = case when ${IS_ABANDONED} then ${PROCESS_ENDED} else q.error end
      from due
     where q.session_id = due.session_id
    returning q.session_id, q.lease_token, q.mark, q.from_scratch, due.try_after = '-infinity' as background, q.attempts`);

/** Extends leases whose token still holds them. @returns their sessions */
export async function renewLeases(
  db: Sql,
  { leases, lease_ms }: { leases: readonly LeaseKey[]; lease_ms: number },
): Promise<string[]> {
  const rows = await db.rows<{ session_id: string }>(sql`
    update svc.derive_queue q
       set leased_until = now() + ${lease_ms}::double precision * interval '1 millisecond'
      from ${leasesOf(leases)}
     where q.session_id = l.session_id and q.lease_token = l.lease_token
    returning q.session_id`);
  return rows.map(({ session_id }) => session_id);
}

/** Records that sessions are being read: those that are behind are derived next. On a standby it does nothing. */
export async function markLookedAt(db: Sql, { session_ids }: { session_ids: readonly string[] }): Promise<null> {
  if (!(await takesWrites(db))) return null;
  await db.rows(sql`
    update svc.derive_queue set looked_at = now()
     where session_id = any(${pgArray(session_ids)}::uuid[])
       and (looked_at is null or looked_at < now() - ${LOOKED_AT_FOR} / 2)`);
  return null;
}

/**
 * Releases a lease after a failure: the next attempt waits 2, 4, 8 … 60 seconds, and after eight the session is parked.
 * @param error the class of the failure; never its message
 */
export async function failDerive(
  db: Sql,
  { session_id, lease_token, error }: { session_id: string; lease_token: string; error: string },
): Promise<{ parked: boolean } | null> {
  const rows = await db.rows<{ parked: boolean }>(sql`
    update svc.derive_queue q
       set attempts = q.attempts + 1, error = ${error}, leased_until = null, lease_token = null,
           try_after = ${afterFailures(sql`q.attempts + 1`)}, parked_at = ${PARKED_AT}
     where session_id = ${session_id} and lease_token = ${lease_token}
    returning parked_at is not null as parked`);
  return rows[0] ?? null;
}

/** Releases leases without a commit and without counting an attempt: for a worker that stops. */
export async function returnLeases(db: Sql, { leases }: { leases: readonly LeaseKey[] }): Promise<null> {
  await db.rows(sql`
    update svc.derive_queue q set leased_until = null, lease_token = null
      from ${leasesOf(leases)}
     where q.session_id = l.session_id and q.lease_token = l.lease_token`);
  return null;
}

/** Releases a lease for some seconds without counting an attempt. */
export async function postponeDerive(
  db: Sql,
  { session_id, lease_token, seconds }: LeaseKey & { seconds: number },
): Promise<null> {
  await db.rows(sql`
    update svc.derive_queue
       set leased_until = null, lease_token = null, try_after = now() + ${seconds}::double precision * interval '1 second'
     where session_id = ${session_id} and lease_token = ${lease_token}`);
  return null;
}

/**
 * Ends all leases: for the only process of a database, so that sessions that it had leased before a crash need not wait, unless they were
 * leased at one before, too. @returns those that are parked now
 */
export const freeLeases = (db: Sql, _args: Record<string, never>): Promise<Abandoned[]> =>
  abandon(db, sql`q.lease_token is not null`);

/** Parks the sessions that nobody may lease once more. @returns them */
export const parkAbandoned = (db: Sql, _args: Record<string, never>): Promise<Abandoned[]> =>
  abandon(db, sql`q.parked_at is null and ${IS_ABANDONED} and q.attempts + 1 >= ${MAX_ATTEMPTS}`);

async function abandon(db: Sql, condition: SQL): Promise<Abandoned[]> {
  const rows = await db.rows<Abandoned & { parked: boolean }>(sql`
    update svc.derive_queue q
       set attempts = q.attempts + 1, error = ${PROCESS_ENDED}, leased_until = null, lease_token = null, parked_at = ${PARKED_AT},
           try_after = case when q.attempts = 0 or q.try_after = '-infinity' then q.try_after
                            else ${afterFailures(sql`q.attempts`)} end
     where ${condition}
    returning q.session_id, q.attempts, q.parked_at is not null as parked`);
  return rows.flatMap(({ parked, ...session }) => (parked ? session : []));
}

export type DerivePending = {
  queued: number; // sessions that are behind, parked ones apart
  parked: number;
  oldest_seconds: number; // how long the longest of them has waited
};

/** How far behind derivation is. */
export async function derivePending(db: Sql, _args: Record<string, never>): Promise<DerivePending> {
  const rows = await db.rows<DerivePending>(sql`
    select count(*) filter (where parked_at is null) as queued, count(*) filter (where parked_at is not null) as parked,
           coalesce(extract(epoch from now() - min(dirtied_at) filter (where parked_at is null)), 0)::double precision
             as oldest_seconds
      from svc.derive_queue`);
  return rows[0] ?? { queued: 0, parked: 0, oldest_seconds: 0 };
}

/**
 * Marks sessions whose projection older rules made, in the order of their ids after `after`; returns the last one marked, null at
 * the end. They are queued in the background (`-infinity`), until a new turn takes them out of it.
 */
export async function markOutdated(
  db: Sql,
  { derive_version, after, limit }: { derive_version: number; after: string | null; limit: number },
): Promise<{ last: string | null; marked: number }> {
  const rows = await db.rows<{ session_id: string }>(sql`
    insert into svc.derive_queue as q (session_id, from_scratch, try_after)
    select r.session_id, true, '-infinity'
      from svc.session_rollups r
     where r.derive_version < ${derive_version} and (${after}::uuid is null or r.session_id > ${after}::uuid)
     order by r.session_id
     limit ${limit}
    on conflict (session_id) do update set mark = q.mark + 1, from_scratch = true, parked_at = null
    returning session_id`);
  const ids = rows.map(({ session_id }) => session_id).sort();
  return { last: ids.at(-1) ?? null, marked: ids.length };
}
