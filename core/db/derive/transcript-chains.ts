/** The versions of transcript files that were sent in chained parts: each part names what precedes it, so that versions share parts. */
import { sql } from 'drizzle-orm';
import type { TranscriptSummary } from '../../model/transcript-upload.ts';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { effectiveTranscripts, lifecycleIn, type TranscriptIdentity } from './transcript-files.ts';

/** A stored part. `summary` and `received_at`: of the newest with which a version ends, null of the others. */
type StoredPart = TranscriptIdentity & {
  raw_turn_id: number;
  from_line: number;
  prefix_sha256: string | null;
  through_sha256: string;
  is_last: boolean;
  summary: TranscriptSummary | null;
  received_at: string | null;
};

/** A part before which nothing is missing. */
type Link = { part: StoredPart; before: Link | null };

/** A version of which all parts are here, by the one with which it ends; `raw_turn_ids` in the order of the parts. */
export type ChainedVersion = TranscriptIdentity & {
  raw_turn_ids: number[];
  newest_id: number;
  summary: TranscriptSummary;
  received_at: string;
};

/** The newest of each file, at most so many, in no order. */
export async function chainedVersions(db: Sql, session_id: string, most: number): Promise<ChainedVersion[]> {
  const { tips } = linked(await storedParts(db, session_id, most));
  return tips.flatMap(({ part, before }) => {
    const { main, agent_id, lifecycle, raw_turn_id, summary, received_at } = part;
    if (summary === null || received_at === null) return [];
    const raw_turn_ids = [raw_turn_id];
    for (let link = before; link; link = link.before) raw_turn_ids.unshift(link.part.raw_turn_id);
    return { main, agent_id, lifecycle, raw_turn_ids, newest_id: raw_turn_id, summary, received_at };
  });
}

export type ChainedTo = { session_id: string; summary: TranscriptSummary };

/** Whether all parts before this one are here, and count for the same session. True of what is no chained part. */
export async function hasPrefix(db: Sql, { session_id, summary }: ChainedTo): Promise<boolean> {
  const { part, main, agent_id, kind } = summary;
  const prefix = part && 'through_sha256' in part ? part.prefix_sha256 : null;
  if (!part || !prefix) return true;
  const { complete } = linked(await storedParts(db, session_id, 1));
  const before = complete.get(keyOf({ main, agent_id, lifecycle: kind === 'started' ? '' : kind }, prefix));
  return before !== undefined && before.part.from_line < part.from_line;
}

/** Each part is behind the one that it names, which stands before it in the file. Of parts with the same end the first stays: it may be known. */
function linked(parts: readonly StoredPart[]): { complete: Map<string, Link>; tips: Link[] } {
  const complete = new Map<string, Link>();
  const tips: Link[] = [];
  for (const part of parts) {
    const { prefix_sha256 } = part;
    const before = prefix_sha256 === null ? null : complete.get(keyOf(part, prefix_sha256));
    if (before === undefined || (before && before.part.from_line >= part.from_line)) continue;
    const link = { part, before };
    const end = keyOf(part, part.through_sha256);
    if (!complete.has(end)) complete.set(end, link);
    if (part.is_last) tips.push(link);
  }
  return { complete, tips };
}

const keyOf = ({ main, agent_id, lifecycle }: TranscriptIdentity, sha256: string): string =>
  JSON.stringify([main, agent_id, lifecycle, sha256]);

/** In the order of the file. Of the many with which versions ended, the newest and those from which a later part goes on. */
const storedParts = (db: Sql, session_id: string, most: number): Promise<StoredPart[]> =>
  db.rows<StoredPart>(sql`
    with own as (
      select t.raw_turn_id, t.received_at, t.meta -> 'transcript' as summary
        from ${effectiveTranscripts(session_id)} c
        join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
       where t.meta #> '{transcript,part,through_sha256}' is not null
    ), parts as (
      select o.*, (o.summary ->> 'main')::boolean as main, o.summary ->> 'agent_id' as agent_id,
             ${lifecycleIn(sql`o.summary`)} as lifecycle, (o.summary #>> '{part,from_line}')::bigint as from_line,
             o.summary #>> '{part,prefix_sha256}' as prefix_sha256, o.summary #>> '{part,through_sha256}' as through_sha256,
             (o.summary #>> '{part,is_last}')::boolean as is_last
        from own o
    ), placed as (
      select p.*, row_number() over (partition by p.main, p.agent_id, p.lifecycle, p.is_last order by p.raw_turn_id desc) as place
        from parts p
    )
    select p.raw_turn_id, p.main, p.agent_id, p.lifecycle, p.from_line, p.prefix_sha256, p.through_sha256, p.is_last,
           case when p.is_last and p.place <= ${most} then p.summary end as summary,
           case when p.is_last and p.place <= ${most} then ${instant(sql`p.received_at`)} end as received_at
      from placed p
     where not p.is_last or p.place <= ${most}
        or p.through_sha256 in (select f.prefix_sha256 from parts f where f.prefix_sha256 is not null)
     order by p.from_line, p.raw_turn_id`);
