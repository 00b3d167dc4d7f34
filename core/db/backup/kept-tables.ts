/** The tables of the service that a backup holds, in the order in which they are read and restored; core/cli/keep/README.md has the reason for each. */
import { type SQL, sql } from 'drizzle-orm';

/** The state of the log when a backup began: what came in later is not in it. */
export type BackupMarks = {
  /** The highest raw_turn_id. */
  up_to: number;
  /** The count by which writers know that their list of stored slices is out of date: one more with each purge and each new partition. */
  purges: number;
  /** The highest correction_id: calls that come later move turns by corrections, which are left out. */
  corrections: number;
  // When one of the following changes, the backup does not hold together.
  /** That count without the partitions. */
  removals: number;
  /** The highest tombstone_id: retention removes turns without a purge of slices. */
  tombstones: number;
};

/** A table as it is read: by pages in the order of its key. */
export type KeptTable = {
  name: string;
  key: readonly string[];
  /** Relation and condition in place of the table, which is `t`. */
  source?: (marks: BackupMarks) => { from: SQL; where: SQL };
  /** Expressions in place of columns of that name. */
  instead?: Readonly<Record<string, SQL>>;
};

/**
 * A session goes on while it is read. Its row is that of the last turn before the mark, unless it has not changed since; one that began
 * later is left out. What later corrections brought or took away is taken back: `since` counts it by the attributions before them.
 */
const SESSIONS: KeptTable = {
  name: 'svc.sessions',
  key: ['session_id'],
  source: ({ up_to, corrections }) => ({
    from: sql`
      svc.sessions t
      left join svc.raw_turns newest
        on newest.session_id = t.session_id and newest.session_seq = t.turn_count and newest.raw_turn_id > ${up_to}
      left join lateral (
        select l.session_seq, l.turn_hash
          from (select r.session_seq, r.turn_hash from svc.raw_turns r where r.session_id = t.session_id and r.raw_turn_id <= ${up_to}
                union all
                select b.session_seq, b.turn_hash from svc.tombstones b where b.session_id = t.session_id) l
         where newest.raw_turn_id is not null
         order by l.session_seq desc
         limit 1) marked on true
      left join (
        select m.session_id, sum(m.turns) as turns
          from (select k.session_id, 1 as turns from svc.raw_turn_corrections k where k.correction_id > ${corrections}
                union all
                select coalesce(earlier.session_id, r.session_id), -1
                  from svc.raw_turn_corrections k
                  join svc.raw_turns r on r.raw_turn_id = k.raw_turn_id
                  left join lateral (
                    select e.session_id from svc.raw_turn_corrections e
                     where e.raw_turn_id = k.raw_turn_id and e.correction_id < k.correction_id
                     order by e.correction_id desc
                     limit 1) earlier on true
                 where k.correction_id > ${corrections}) m
         group by 1) since on since.session_id = t.session_id`,
    where: sql`(newest.raw_turn_id is null or marked.session_seq is not null)`,
  }),
  instead: {
    turn_count: sql`case when newest.raw_turn_id is null then t.turn_count else marked.session_seq end`,
    moved_turns: sql`t.moved_turns - coalesce(since.turns, 0)`,
    // A session that was made for such a correction has no turn here.
    emptied: sql`t.emptied or (
      since.turns is not null
      and case when newest.raw_turn_id is null then t.turn_count else marked.session_seq end + t.moved_turns - since.turns = t.purged_turns)`,
    head_turn_hash: sql`case when newest.raw_turn_id is null then t.head_turn_hash else marked.turn_hash end`,
  },
};

/** One that is stored in several partitions is read from the first of them. */
const SLICES: KeptTable = {
  name: 'svc.slices',
  key: ['slice_id'],
  source: () => ({
    from: sql`svc.slices t`,
    where: sql`not exists (select from svc.slices o where o.slice_id = t.slice_id and o.partition_no < t.partition_no)`,
  }),
};

/** Slices last: all that the turns before refer to are stored by then. */
export const KEPT_TABLES: readonly KeptTable[] = [
  SESSIONS,
  {
    name: 'svc.raw_turns',
    key: ['raw_turn_id'],
    source: ({ up_to }) => ({ from: sql`svc.raw_turns t`, where: sql`t.raw_turn_id <= ${up_to}` }),
  },
  {
    name: 'svc.raw_turn_corrections',
    key: ['correction_id'],
    source: ({ corrections }) => ({
      from: sql`svc.raw_turn_corrections t`,
      where: sql`t.correction_id <= ${corrections}`,
    }),
  },
  { name: 'svc.tombstones', key: ['tombstone_id'] },
  { name: 'svc.parked_turns', key: ['svc_proxy_request_id'] },
  { name: 'svc.session_edits', key: ['session_id'] },
  { name: 'svc.removed_spend', key: ['day', 'project_digest'] },
  { name: 'svc.removed_calls', key: ['call_key', 'day', 'project_digest'] },
  { name: 'svc.session_removals', key: ['session_id'] },
  { name: 'svc.session_revisions', key: ['session_id'] },
  { name: 'svc.transcript_claims', key: ['session_id', 'call_key'] },
  { name: 'svc.transcript_claim_marks', key: ['session_id'] },
  SLICES,
];

/** Small tables that change with each turn: read in the transaction that sets the marks. */
export const MARKED_TABLES = ['svc.coverage', 'svc.journals'] as const;

export const KEPT_NAMES: readonly string[] = [...MARKED_TABLES, ...KEPT_TABLES.map(({ name }) => name)];
