/** The transcript files of a session: which of its turns they are. */
import { type SQL, sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** Which file it is: the main one, or that of an agent and its lifecycle; '' and `started` are one. */
export type TranscriptIdentity = { main: boolean; agent_id: string; lifecycle: string };

/** SQL of a summary's lifecycle. */
export const lifecycleIn = (summary: SQL): SQL =>
  sql`case ${summary} ->> 'kind' when 'started' then '' else ${summary} ->> 'kind' end`;

/**
 * SQL of the highest raw_turn_id of a transcript that counts for the session; null: there is none. Usually reads one entry of an index.
 * `between`, so that only the index of transcripts has this order: with `order by raw_turn_id` the planner might scan all turns backwards.
 */
export const newestTranscriptIn = (session_id: string): SQL => sql`
  greatest(
    (select t.raw_turn_id
       from svc.raw_turns t
      where t.session_id between ${session_id}::uuid and ${session_id}::uuid and t.source = 'transcript'
        and not exists (select 1 from svc.raw_turn_corrections k where k.raw_turn_id = t.raw_turn_id)
      order by t.session_id desc, t.raw_turn_id desc
      limit 1),
    (select max(k.raw_turn_id)
       from svc.raw_turn_corrections k
       join svc.effective_turns e on e.raw_turn_id = k.raw_turn_id and e.session_id = k.session_id
       join svc.raw_turns t on t.raw_turn_id = k.raw_turn_id and t.source = 'transcript'
      where k.session_id = ${session_id}::uuid))`;

/** How large a session's transcripts are, all versions together, as they were sent. */
export async function transcriptBytes(db: Sql, { session_id }: { session_id: string }): Promise<number> {
  const [row] = await db.rows<{ bytes: number }>(sql`
    select coalesce(sum(t.request_bytes), 0)::bigint as bytes
      from ${effectiveTranscripts(session_id)} c
      join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id`);
  return row?.bytes ?? 0;
}

/** The raw_turn_ids of a session's transcripts, as the latest correction attributes them. */
export const effectiveTranscripts = (session_id: string) => sql`
  (select r.raw_turn_id
     from svc.raw_turns r
    where r.session_id = ${session_id}::uuid and r.source = 'transcript'
      and not exists (select 1 from svc.raw_turn_corrections k where k.raw_turn_id = r.raw_turn_id)
    union
   select k.raw_turn_id
     from svc.raw_turn_corrections k
     join svc.effective_turns e on e.raw_turn_id = k.raw_turn_id and e.session_id = k.session_id
     join svc.raw_turns r on r.raw_turn_id = k.raw_turn_id and r.source = 'transcript'
    where k.session_id = ${session_id}::uuid)`;
