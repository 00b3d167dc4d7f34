/** What an id belongs to: a session, trace, span or raw turn, by any id that is stored of it. Each lookup is by an index. */
import { type SQL, sql } from 'drizzle-orm';
import { storable } from '../../derive/storable.ts';
import type { Place } from '../../model/place.ts';
import type { Sql } from '../sql.ts';
import { notDeleted } from './not-deleted.ts';
import { present, type Sparse } from './present.ts';
import { sessionsOfHarness } from './sessions-of-harness.ts';

const MOST = 50;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** A raw turn's number. */
const NUMBER = /^[1-9]\d{0,14}$/;

/** At most 50 places, none of deleted sessions. What a session has of its own comes first, then its traces, spans and raw turns. */
export async function whereIs(db: Sql, { id }: { id: string }): Promise<Place[]> {
  if (storable(id) !== id || id === '') return []; // no column can hold it
  if (!NUMBER.test(id) && !isStart(id)) {
    // To plan all lookups takes longer than these.
    const sessions = await placesBy(db, [...(UUID.test(id) ? [bySessionId(id)] : []), ofHarness(id)]);
    if (sessions.length > 0) return sessions;
  }
  return placesBy(db, [
    ...(UUID.test(id) ? byUuid(id) : isStart(id) ? byStart(id) : []),
    ...(NUMBER.test(id) ? [byNumber(id)] : []),
    ...byText(id),
  ]);
}

async function placesBy(db: Sql, lookups: readonly SQL[]): Promise<Place[]> {
  const rows = await db.rows<Sparse<Place>>(sql`
    select l.kind, l.session_id, l.trace_id, l.span_id, l.raw_turn_id
      from (${sql.join([...lookups], sql` union all `)}) l
     where ${notDeleted(sql`l.session_id`)}
     limit ${MOST}`);
  return rows.map((row) => present<Place>(row));
}

const columns = (kind: Place['kind'], trace: string, span: string, turn: string): SQL =>
  sql.raw(`'${kind}'::text as kind, session_id, ${trace} as trace_id, ${span} as span_id, ${turn} as raw_turn_id`);
const [NO_ID, NO_NUMBER] = ['null::uuid', 'null::bigint'];

const bySessionId = (id: string): SQL =>
  sql`(select ${columns('session', NO_ID, NO_ID, NO_NUMBER)} from svc.sessions where session_id = ${id}::uuid and not is_empty)`;

const byUuid = (id: string): SQL[] => [
  bySessionId(id),
  sql`(select ${columns('trace', 'trace_id', NO_ID, NO_NUMBER)} from svc.all_traces where trace_id = ${id}::uuid)`,
  sql`(select ${columns('span', 'trace_id', 'span_id', 'raw_turn_id')} from svc.all_spans where span_id = ${id}::uuid limit ${MOST})`,
];

const [FIRST, LAST] = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];

/** The beginning of an id, as lists and people shorten it. */
const isStart = (id: string) => id.length >= 4 && id.length < FIRST.length && UUID.test(id + FIRST.slice(id.length));

/** Each id leads a primary key, so the ids that begin alike are a range of it. */
function byStart(id: string): SQL[] {
  const within = (column: string): SQL => sql`
    ${sql.raw(column)} between ${id + FIRST.slice(id.length)}::uuid and ${id + LAST.slice(id.length)}::uuid`;
  return [
    sql`(select ${columns('session', NO_ID, NO_ID, NO_NUMBER)} from svc.sessions where ${within('session_id')} and not is_empty limit ${MOST})`,
    sql`(select ${columns('trace', 'trace_id', NO_ID, NO_NUMBER)} from svc.all_traces where ${within('trace_id')} limit ${MOST})`,
    sql`(select ${columns('span', 'trace_id', 'span_id', 'raw_turn_id')} from svc.all_spans where ${within('span_id')} limit ${MOST})`,
  ];
}

/** With the call that was derived of it, where it is one. */
const turns = (kind: Place['kind'], condition: SQL): SQL => sql`
  (select ${columns(kind, 'trace_id', 'span_id', 'raw_turn_id')}
     from (select a.session_id, p.trace_id, p.span_id, t.raw_turn_id
             from svc.raw_turns t
             join svc.effective_turns a on a.raw_turn_id = t.raw_turn_id
             left join svc.all_spans p on p.raw_turn_id = t.raw_turn_id and p.kind = 'llm' and t.source = 'wire'
            where ${condition}) n)`;

const byNumber = (id: string): SQL => turns('raw_turn', sql`t.raw_turn_id = ${id}::bigint`);

const spans = (kind: Place['kind'], span: 'llm' | 'tool', id: string): SQL => sql`
  (select ${columns(kind, 'trace_id', 'span_id', 'raw_turn_id')}
     from svc.all_spans
    where external_id <> '' and hashtextextended(external_id, 0) = hashtextextended(${id}::text, 0)
      and external_id = ${id}::text and kind = ${span}
    limit ${MOST})`;

const ofHarness = (id: string): SQL => sql`
  (select ${columns('harness_session', NO_ID, NO_ID, NO_NUMBER)} from (${sessionsOfHarness(id)}) h limit ${MOST})`;

const byText = (id: string): SQL[] => [
  ofHarness(id),
  spans('response', 'llm', id),
  spans('tool_call', 'tool', id),
  turns('svc_proxy_request', sql`t.svc_proxy_request_id = ${id}::text`),
  turns('request', sql`t.request_id = ${id}::text`),
];
