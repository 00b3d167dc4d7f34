/** The complete versions of a session's transcript files, however they were sent: whole, or in parts. */
import { sql } from 'drizzle-orm';
import type { TranscriptSummary } from '../../model/transcript-upload.ts';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { chainedVersions } from './transcript-chains.ts';
import { effectiveTranscripts, lifecycleIn, type TranscriptIdentity } from './transcript-files.ts';

/** At most so many versions of an identity are returned. */
const MOST_VERSIONS = 16;

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

/** The versions of one identity, the newest first. */
export type TranscriptVersions = TranscriptIdentity & { versions: TranscriptVersion[] };

/** By identity: the main file first, then the agents by id. A version that lacks a part is left out. */
export async function transcriptVersions(
  db: Sql,
  { session_id }: { session_id: string },
): Promise<TranscriptVersions[]> {
  const found = [...(await countedVersions(db, session_id)), ...(await chainedVersions(db, session_id, MOST_VERSIONS))];
  if (found.length === 0) return [];
  const [session] = await db.rows<Pick<TranscriptVersion, 'harness_id' | 'harness_session_id'>>(sql`
    select s.harness_id, s.harness_session_id from svc.sessions s where s.session_id = ${session_id}::uuid`);
  if (!session) return [];
  const identities = new Map<string, TranscriptVersions>();
  for (const { main, agent_id, lifecycle, ...version } of found.sort((one, other) => other.newest_id - one.newest_id)) {
    const key = JSON.stringify([main, agent_id, lifecycle]);
    const identity = identities.get(key) ?? { main, agent_id, lifecycle, versions: [] };
    if (identity.versions.length < MOST_VERSIONS) identity.versions.push({ ...version, ...session });
    identities.set(key, identity);
  }
  return [...identities.values()].sort(inOrder);
}

const inOrder = (one: TranscriptIdentity, other: TranscriptIdentity): number =>
  Number(other.main) - Number(one.main) ||
  compareText(one.agent_id, other.agent_id) ||
  compareText(one.lifecycle, other.lifecycle);

const compareText = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

type CountedVersion = TranscriptIdentity & Omit<TranscriptVersion, 'harness_id' | 'harness_session_id'>;

/** Files that were sent whole, or in parts that name how many they are. Of a part that came several times the last one counts. */
const countedVersions = (db: Sql, session_id: string): Promise<CountedVersion[]> =>
  db.rows<CountedVersion>(sql`
    with own as (
      select t.raw_turn_id, t.received_at, t.meta -> 'transcript' as summary
        from ${effectiveTranscripts(session_id)} c
        join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
       where t.meta #> '{transcript,part,through_sha256}' is null
    ), parts as (
      select o.raw_turn_id, (o.summary ->> 'main')::boolean as main, o.summary ->> 'agent_id' as agent_id,
             ${lifecycleIn(sql`o.summary`)} as lifecycle,
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
    select r.main, r.agent_id, r.lifecycle, r.raw_turn_ids, r.newest_id, o.summary, ${instant(sql`o.received_at`)} as received_at
      from ranked r
      join own o on o.raw_turn_id = r.newest_id
     where r.place <= ${MOST_VERSIONS}`);
