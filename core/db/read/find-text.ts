/** Looks for a text in rows: those of a session, and those that belong to none. Bodies are looked through elsewhere. (engine/find-text) */
import { type SQL, sql } from 'drizzle-orm';
import type { TitleParts } from '../../model/session.ts';
import { cassetteTables, quotedName } from '../edit/forget-in-cassettes.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { titleParts, withTitle } from './session-title.ts';

/** The forms that a text has within JSON. */
type Forms = { forms: readonly string[] };

export type RowsFound = {
  title: string | null;
  harness_id: string;
  deleted: boolean;
  /** The session's raw turns, as the latest corrections have it. */
  raw_turn_ids: number[];
  /** Of these, those in whose columns the text is: addresses, values of headers, facts. */
  in_columns: number[];
  /** The first of them. */
  spans: { trace_id: string; span_id: string; kind: string }[];
  /** How many rows, by table; none where there are none. */
  rows: Record<string, number>;
};

const TABLES = [
  ...['sessions', 'session_edits', 'session_rollups', 'traces', 'spans', 'nodes', 'calls'],
  ...['derive_states', 'transcript_readings', 'cache_breaks'],
] as const;
const MOST_SPANS = 20;

/** null: there is no such session. */
export async function findTextInSession(
  db: Sql,
  { session_id, forms }: Forms & { session_id: string },
): Promise<RowsFound | null> {
  const [session] = await db.rows<Pick<RowsFound, 'harness_id' | 'deleted'> & { title_parts: TitleParts }>(sql`
    select ${titleParts}, s.harness_id, e.deleted_at is not null as deleted
      from svc.sessions s
      left join svc.session_rollups r on r.session_id = s.session_id
      left join svc.session_edits e on e.session_id = s.session_id
     where s.session_id = ${session_id}::uuid`);
  if (!session) return null;
  const own = sql`t.session_id = ${session_id}::uuid`;
  const rows: Record<string, number> = {};
  for (const table of TABLES) {
    const [counted] = await db.rows<{ found: number }>(sql`
      select count(*) as found from ${sql.raw(`svc.${table}`)} t where ${own} and ${holds(forms)}`);
    if (counted && counted.found > 0) rows[table] = counted.found;
  }
  const [prompts] = await db.rows<{ found: number }>(sql`
    select count(*) as found from svc.found_prompt_uses t join svc.found_prompts q on q.piece_id = t.piece_id
     where ${own} and ${holds(forms, sql`to_jsonb(q.text)::text`)}`);
  if (prompts && prompts.found > 0) rows.found_prompts = prompts.found;
  const spans = rows.spans
    ? await db.rows<RowsFound['spans'][number]>(sql`
        select t.trace_id, t.span_id, t.kind from svc.spans t where ${own} and ${holds(forms)}
         order by t.started_at, t.span_id limit ${MOST_SPANS}`)
    : [];
  const turns = await db.rows<{ raw_turn_id: number; found: boolean }>(sql`
    select t.raw_turn_id, ${holds(forms)} as found
      from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${session_id}::uuid
            union
            select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}::uuid) c
      join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id and e.session_id = ${session_id}::uuid
      join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
     order by t.raw_turn_id`);
  const in_columns = turns.filter(({ found }) => found).map(({ raw_turn_id }) => raw_turn_id);
  return { ...withTitle(session), rows, spans, in_columns, raw_turn_ids: turns.map(({ raw_turn_id }) => raw_turn_id) };
}

/** `parked_turns`: their ids. `tables`: those of cassettes, and of the service the reasons of purges, with how many rows. */
export type FoundElsewhere = { parked_turns: string[]; tables: { table: string; rows: number }[] };

/** @param bytes the forms that the text has in bodies */
export async function findTextElsewhere(
  db: Sql,
  { forms, bytes }: Forms & { bytes: readonly string[] },
): Promise<FoundElsewhere> {
  const inBody = (column: SQL) =>
    sql`exists (select 1 from unnest(${pgArray(bytes)}::text[]) as n (form) where position(convert_to(n.form, 'UTF8') in ${column}) > 0)`;
  const parked = await db.rows<{ id: string }>(sql`
    select t.svc_proxy_request_id as id from svc.parked_turns t
     where ${inBody(sql`t.request_body`)} or ${inBody(sql`t.response_body`)} or ${holds(forms, sql`to_jsonb(t.head)::text`)}
     order by 1`);
  const cassettes = await db.rows<{ name: string }>(
    sql`select ${quotedName} as name from ${cassetteTables} order by name`,
  );
  const tables: FoundElsewhere['tables'] = [];
  for (const table of ['svc.tombstones', 'svc.raw_turn_corrections', ...cassettes.map(({ name }) => name)]) {
    const [counted] = await db.rows<{ rows: number }>(sql`
      select count(*) as rows from ${sql.raw(table)} t where ${holds(forms)}`);
    if (counted && counted.rows > 0) tables.push({ table, rows: counted.rows });
  }
  return { parked_turns: parked.map(({ id }) => id), tables };
}

const holds = (forms: readonly string[], text: SQL = sql`to_jsonb(t)::text`): SQL =>
  sql`exists (select 1 from unnest(${pgArray(forms)}::text[]) as n (form) where strpos(${text}, n.form) > 0)`;
