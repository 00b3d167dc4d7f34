/** The tools that traces used, and how often. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

type ToolUse = { trace_id: string; name: string; calls: number };

/** For each trace at most `most` tools, those with more calls first; a trace without any has no row. */
export async function toolsOfTraces(
  db: Sql,
  { trace_ids, most }: { trace_ids: readonly string[]; most: number },
): Promise<ToolUse[]> {
  if (trace_ids.length === 0) return [];
  return db.rows<ToolUse>(sql`
    select u.trace_id, u.name, u.calls
      from (select p.trace_id, p.name, count(*) as calls,
                   row_number() over (partition by p.trace_id order by count(*) desc, p.name collate "C") as place
              from svc.spans p
             where p.trace_id = any(${pgArray(trace_ids)}::uuid[]) and p.kind = 'tool'
             group by p.trace_id, p.name) u
     where u.place <= ${most}::integer
     order by u.trace_id, u.place`);
}
