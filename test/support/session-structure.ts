/** The structure of a session, in words that do not depend on the source of its calls: which span is whose child. */
import type { TestDatabase } from './databases.ts';

/** A line per span, indented below its parent, in the order of the traces and of their spans. */
export async function structureOf(database: TestDatabase, session_id: string): Promise<string[]> {
  const spans = await database.sql(
    `select s.trace_id, s.span_id, s.parent_span_id, s.kind, s.name, s.external_id, s.thread_id, s.input_tokens, s.output_tokens
       from svc.spans s join svc.traces t using (session_id, trace_id)
      where s.session_id = $1 and s.kind <> 'event'
      order by t.started_at, t.trace_id, s.seq`,
    [session_id],
  );
  const lines: string[] = [];
  const below = (parent: unknown, depth: number) => {
    for (const span of spans.filter(({ parent_span_id }) => parent_span_id === parent)) {
      const tool = span.kind === 'tool' ? ` ${span.external_id}` : '';
      const tokens = span.kind === 'llm' ? ` ${span.input_tokens}+${span.output_tokens}` : '';
      lines.push(
        `${'  '.repeat(depth)}${span.kind} ${span.name}${tool}${tokens}${span.thread_id ? ` of ${span.thread_id}` : ''}`,
      );
      below(span.span_id, depth + 1);
    }
  };
  below(null, 0);
  return lines;
}

/** How many links of each kind a session has. */
export async function linksIn(database: TestDatabase, session_id: string): Promise<Record<string, number>> {
  const rows = await database.sql(
    'select kind, count(*)::int as n from svc.span_links where session_id = $1 group by kind order by kind',
    [session_id],
  );
  return Object.fromEntries(rows.map(({ kind, n }) => [String(kind), Number(n)]));
}
