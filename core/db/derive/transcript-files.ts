/** The transcripts of a session: of each thread's file the complete versions, the newest first. */
import { sql } from 'drizzle-orm';
import type { TranscriptSummary } from '../../model/transcript-upload.ts';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';

/**
 * One complete upload, or one file of which all parts have come. Its facts (`summary`) are those of the part that came last.
 * `raw_turn_ids` are in the order of the parts, so the highest of them, by which versions are ordered, need not be the last.
 */
export type TranscriptVersion = {
  summary: TranscriptSummary;
  harness_id: string; // with the next: the session for which it counts, perhaps another than it names
  harness_session_id: string;
  raw_turn_ids: number[];
  newest_id: number; // the highest of them
  received_at: string; // of that one
};

/** The versions of one identity: the main file, or an agent and its lifecycle; '' and `started` are one. The newest first. */
export type TranscriptVersions = { main: boolean; agent_id: string; lifecycle: string; versions: TranscriptVersion[] };

/** At most so many versions of an identity are returned. */
const MOST_VERSIONS = 16;

/**
 * By identity: the main file first, then the agents by id. Of a part that came several times the last one counts; a version that lacks
 * a part is left out.
 */
export async function transcriptVersions(
  db: Sql,
  { session_id }: { session_id: string },
): Promise<TranscriptVersions[]> {
  const rows = await db.rows<TranscriptVersion & Omit<TranscriptVersions, 'versions'>>(sql`
    with own as (
      select t.raw_turn_id, t.received_at, t.meta -> 'transcript' as summary
        from ${effective(session_id)} c
        join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
    ), parts as (
      select o.raw_turn_id, (o.summary ->> 'main')::boolean as main, o.summary ->> 'agent_id' as agent_id,
             case o.summary ->> 'kind' when 'started' then '' else o.summary ->> 'kind' end as lifecycle,
             case when o.summary -> 'part' is null then o.raw_turn_id::text else o.summary #>> '{part,file_sha256}' end as file,
             coalesce((o.summary #>> '{part,count}')::bigint, 1) as count, coalesce((o.summary #>> '{part,index}')::bigint, 0) as index
        from own o
    ), latest as (
      select distinct on (p.main, p.agent_id, p.lifecycle, p.file, p.count, p.index) p.*
        from parts p
       order by p.main, p.agent_id, p.lifecycle, p.file, p.count, p.index, p.raw_turn_id desc
    ), whole as (
      select l.main, l.agent_id, l.lifecycle, json_agg(l.raw_turn_id order by l.index) as raw_turn_ids,
             max(l.raw_turn_id) as newest_id
        from latest l
       group by l.main, l.agent_id, l.lifecycle, l.file, l.count
      having count(*) = l.count
    ), ranked as (
      select w.*, row_number() over (partition by w.main, w.agent_id, w.lifecycle order by w.newest_id desc) as place
        from whole w
    )
    select r.main, r.agent_id, r.lifecycle, r.raw_turn_ids, r.newest_id, o.summary, s.harness_id, s.harness_session_id,
           ${instant(sql`o.received_at`)} as received_at
      from ranked r
      join own o on o.raw_turn_id = r.newest_id
      join svc.sessions s on s.session_id = ${session_id}::uuid
     where r.place <= ${MOST_VERSIONS}
     order by not r.main, r.agent_id collate "C", r.lifecycle collate "C", r.place`);
  const identities = new Map<string, TranscriptVersions>();
  for (const { main, agent_id, lifecycle, ...version } of rows) {
    const key = JSON.stringify([main, agent_id, lifecycle]);
    const existing = identities.get(key);
    if (existing) existing.versions.push(version);
    else identities.set(key, { main, agent_id, lifecycle, versions: [version] });
  }
  return [...identities.values()];
}

/** The highest raw_turn_id of a transcript that counts for the session; null: there is none. Usually reads one entry of an index. */
export async function newestTranscript(db: Sql, { session_id }: { session_id: string }): Promise<number | null> {
  // `between`, so that only the index of transcripts has this order: with `order by raw_turn_id` the planner might scan all turns backwards.
  const [row] = await db.rows<{ newest: number | null }>(sql`
    select greatest(
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
        where k.session_id = ${session_id}::uuid)) as newest`);
  return row?.newest ?? null;
}

/** How large a session's transcripts are, all versions together, as they were sent. */
export async function transcriptBytes(db: Sql, { session_id }: { session_id: string }): Promise<number> {
  const [row] = await db.rows<{ bytes: number }>(sql`
    select coalesce(sum(t.request_bytes), 0)::bigint as bytes
      from ${effective(session_id)} c
      join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id`);
  return row?.bytes ?? 0;
}

/** As the latest correction attributes them. */
const effective = (session_id: string) => sql`
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
