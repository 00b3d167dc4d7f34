/** The columns of links, in the shape of the model. */
import type { LinkRow } from '../../derive/changes.ts';
import type { Link } from '../../model/link.ts';
import { type ColumnsFor, columnsOf, mapping, optional, type PgType, type RowOf, selectOf, typesOf } from './column.ts';

/** Of `svc.span_links l`, or of `svc.fork_links l`, a view. */
const derived = columnsOf<'l', LinkRow>('l');

export const linkColumns = {
  kind: derived('kind', 'text'),
  from_trace_id: derived('from_trace_id', 'uuid'),
  from_span_id: derived('from_span_id', 'uuid'),
  from_io: optional(derived('from_io', 'text')),
  to_trace_id: derived('to_trace_id', 'uuid'),
  to_span_id: derived('to_span_id', 'uuid'),
  to_io: optional(derived('to_io', 'text')),
} as const satisfies ColumnsFor<Link>;

export type LinkColumns = RowOf<typeof linkColumns>;

export const linkSelect = selectOf(linkColumns);

/** What the fold writes: its row must have each of these columns, and no other. */
export const linkTypes: Record<keyof LinkRow, PgType> = { session_id: 'uuid', ...typesOf(linkColumns, 'l') };

export const toLink = mapping<Link, LinkColumns>(linkColumns);
