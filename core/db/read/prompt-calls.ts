/** The calls of a session whose prompts can be read: where their bytes are, what they were billed, and the span that shows each. */
import { type SQL, sql } from 'drizzle-orm';
import type { Span, SpanUsage } from '../../model/span.ts';
import { instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { hasBodies } from '../store/stored-turns.ts';
import { notDeleted } from './not-deleted.ts';
import type { TurnParts } from './turn-chain-bytes.ts';

export type PromptCall = TurnParts & {
  session_id: string;
  thread_id: string;
  call_id: string;
  continues_call_id: string; // '' for none
  names_previous: boolean; // the request names an answer or a conversation that the provider holds
  format: string;
  url: string;
  requested_at: string;
  last_byte_at: string | null;
  model: string; // as requested
  provider: string;
  credential: string;
  call_kind: string;
  span: CallSpan | null; // null: not derived yet
  mark: string; // changes with what its tokens, those of later calls and their verdicts depend on
};

export type CallSpan = {
  trace_id: string;
  span_id: string;
  model: string; // as answered
  usage: SpanUsage | null; // null: the provider reported none
  price: NonNullable<Span['price']> | null;
};

type Columns = Omit<PromptCall, 'span' | 'call_kind'> & {
  call_kind: string | null;
  trace_id: string | null;
  span_id: string | null;
  span_model: string | null;
  reported: boolean | null;
  price: NonNullable<Span['price']> | null;
  cost_usd: string | null;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_5m_tokens: number;
  cache_write_1h_tokens: number;
  reasoning_tokens: number;
};

/** In the order of time, after a place in it. */
export type PromptPlace = { requested_at: string; raw_turn_id: number };

export async function promptCalls(
  db: Sql,
  { session_id, after, limit }: { session_id: string; after: PromptPlace | null; limit: number },
): Promise<PromptCall[]> {
  const rows = await db.rows<Columns>(sql`
    ${select}
      from (${pageOfIds(session_id, after, limit)}) q
      join svc.effective_turns e on e.raw_turn_id = q.raw_turn_id
      ${joins}
     order by t.requested_at, t.raw_turn_id`);
  return rows.map(promptCall);
}

/** The marks of all of its calls, in the same order. */
export async function promptMarks(db: Sql, { session_id }: { session_id: string }): Promise<string[]> {
  const rows = await db.rows<{ mark: string }>(sql`
    select ${mark} as mark ${ofSession(session_id)} order by t.requested_at, t.raw_turn_id`);
  return rows.map((row) => row.mark);
}

/** One call; null: there is none, or it holds no prompt that can be read. */
async function onePromptCall(db: Sql, where: SQL): Promise<PromptCall | null> {
  const [row] = await db.rows<Columns>(sql`
    ${select} from svc.effective_turns e ${joins} where ${where} and ${readable}`);
  return row ? promptCall(row) : null;
}

export const promptCallOf = (db: Sql, { raw_turn_id }: { raw_turn_id: number }): Promise<PromptCall | null> =>
  onePromptCall(db, sql`e.raw_turn_id = ${raw_turn_id}::bigint`);

/** Those of these calls that hold a prompt that can be read, in no order. */
export async function promptCallsOf(db: Sql, { raw_turn_ids }: { raw_turn_ids: number[] }): Promise<PromptCall[]> {
  const rows = await db.rows<Columns>(sql`
    ${select} from svc.effective_turns e ${joins}
     where e.raw_turn_id = any(${pgArray(raw_turn_ids)}::bigint[]) and ${readable}`);
  return rows.map(promptCall);
}

/** By the id under which other calls continue it. */
export const promptCallNamed = (db: Sql, { call_id }: { call_id: string }): Promise<PromptCall | null> =>
  onePromptCall(db, sql`(t.svc_proxy_request_id = ${call_id} or t.request_id = ${call_id})`);

const mark = sql`
  concat_ws(' ', t.raw_turn_id, e.thread_id, c.kind, p.span_id, p.model, p.input_tokens, p.cache_read_tokens,
            p.cache_write_5m_tokens, p.cache_write_1h_tokens, p.cost_usd)`;

const select = sql`
  select t.raw_turn_id, e.session_id, e.thread_id, coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) as call_id,
         coalesce(t.identity ->> 'continues_call_id', '') as continues_call_id,
         coalesce(c.previous_response_id <> '' or c.conversation_id <> '', false) as names_previous,
         t.format, t.url, ${instant(sql`t.requested_at`)} as requested_at, ${instant(sql`t.last_byte_at`)} as last_byte_at,
         coalesce(c.model, '') as model, t.provider, encode(s.client_key, 'hex') as credential, c.kind as call_kind,
         t.request_pages, t.request_page_depth, encode(t.response_slice, 'hex') as response_slice,
         encode(t.request_header_template, 'hex') as request_header_template, t.request_header_values,
         encode(t.response_header_template, 'hex') as response_header_template, t.response_header_values,
         p.trace_id, p.span_id, p.model as span_model, p.usage_verbatim is not null as reported, p.price, p.cost_usd,
         p.input_tokens, p.output_tokens, p.cache_read_tokens, p.cache_write_5m_tokens, p.cache_write_1h_tokens,
         p.reasoning_tokens, ${mark} as mark`;

const joins = sql`
  join svc.raw_turns t on t.raw_turn_id = e.raw_turn_id
  join svc.sessions s on s.session_id = e.session_id
  left join svc.calls c on c.raw_turn_id = e.raw_turn_id
  left join lateral (
    select o.trace_id, o.span_id, o.model, o.usage_verbatim, o.price, o.cost_usd, o.input_tokens, o.output_tokens,
           o.cache_read_tokens, o.cache_write_5m_tokens, o.cache_write_1h_tokens, o.reasoning_tokens
      from svc.all_spans o
     where o.raw_turn_id = e.raw_turn_id and o.session_id = e.session_id and o.kind = 'llm' and o.inherited_from is null
     order by o.started_at, o.span_id
     limit 1) p on true`;

const readable = sql`
  t.source = 'wire' and t.format <> '' and ${hasBodies} and coalesce(c.unreadable, '') = '' and ${notDeleted(sql`e.session_id`)}`;

/** The calls that the latest corrections attribute to a session: all of them. */
const ofSession = (session_id: string): SQL => sql`
  from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${session_id}::uuid
        union
        select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}::uuid) q
  join svc.effective_turns e on e.raw_turn_id = q.raw_turn_id and e.session_id = ${session_id}::uuid
  ${joins}
 where ${readable}`;

/**
 * The ids of a page of them. Two disjoint lists, each cut to the page before anything is joined: turns without a correction, which an
 * index has in this order, and turns that one has moved here.
 */
function pageOfIds(session_id: string, after: PromptPlace | null, limit: number): SQL {
  const page = sql`order by requested_at, raw_turn_id limit ${limit}`;
  const which = sql`
    t.source = 'wire' and t.format <> '' and ${behind(after)} and ${notDeleted(sql`${session_id}::uuid`)}`;
  return sql`
    (select t.raw_turn_id, t.requested_at
       from svc.raw_turns t
      where t.session_id = ${session_id}::uuid and ${which}
        and ${usually(sql`
          ${hasBodies} and ${isRead}
          and (select k.correction_id from svc.raw_turn_corrections k where k.raw_turn_id = t.raw_turn_id limit 1) is null`)}
     ${page})
    union all
    (select t.raw_turn_id, t.requested_at
       from svc.raw_turn_corrections k
       join svc.raw_turns t on t.raw_turn_id = k.raw_turn_id
      where k.session_id = ${session_id}::uuid and ${which} and ${usually(sql`${hasBodies} and ${isRead}`)}
        and k.correction_id = (select max(n.correction_id) from svc.raw_turn_corrections n where n.raw_turn_id = k.raw_turn_id)
     ${page})
    ${page}`;
}

/** A subquery with one row: of `not exists` the planner may make a hash of all calls that there are. */
const isRead = sql`coalesce((select c.unreadable from svc.calls c where c.raw_turn_id = t.raw_turn_id), '') = ''`;

/** Half of all rows, as the planner takes it. Of the bare condition it expects next to none, and then reads and sorts the whole session for each page. */
const usually = (condition: SQL): SQL => sql`case when ${condition} then true else false end`;

const behind = (after: PromptPlace | null): SQL =>
  after === null
    ? sql`true`
    : sql`(t.requested_at, t.raw_turn_id) > (${after.requested_at}::timestamptz, ${after.raw_turn_id}::bigint)`;

function promptCall({
  trace_id,
  span_id,
  span_model,
  reported,
  price,
  cost_usd,
  call_kind,
  ...row
}: Columns): PromptCall {
  const {
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_5m_tokens,
    cache_write_1h_tokens,
    reasoning_tokens,
    ...call
  } = row;
  const usage = {
    ...{
      input_tokens,
      output_tokens,
      cache_read_tokens,
      cache_write_5m_tokens,
      cache_write_1h_tokens,
      reasoning_tokens,
    },
    cost_usd: cost_usd === null ? null : Number(cost_usd),
  };
  const span =
    trace_id === null || span_id === null
      ? null
      : { trace_id, span_id, model: span_model ?? '', usage: reported ? usage : null, price };
  return { ...call, call_kind: call_kind ?? 'main', span };
}
