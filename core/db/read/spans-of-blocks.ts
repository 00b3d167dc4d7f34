/** The spans that show what a prompt holds: of calls, and of tools by the provider's ids of their calls. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

export type SpanOfBlock = { trace_id: string; span_id: string; raw_turn_id: number | null; external_id: string | null };

/** Those of calls have their `raw_turn_id`, those of tools their `external_id`. */
export const spansOfBlocks = (
  db: Sql,
  { session_id, raw_turn_ids, call_ids }: { session_id: string; raw_turn_ids: number[]; call_ids: string[] },
): Promise<SpanOfBlock[]> =>
  db.rows<SpanOfBlock>(sql`
    select p.trace_id, p.span_id, p.raw_turn_id, null as external_id
      from svc.spans p
     where p.raw_turn_id = any(${pgArray(raw_turn_ids)}::bigint[]) and p.session_id = ${session_id}::uuid
       and p.kind = 'llm' and p.inherited_from is null
    union all
    select p.trace_id, p.span_id, null, p.external_id
      from svc.spans p
     where p.session_id = ${session_id}::uuid and p.kind = 'tool' and p.external_id <> ''
       and p.external_id = any(${pgArray(call_ids)}::text[])`);
