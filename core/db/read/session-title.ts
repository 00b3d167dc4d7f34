/** The title of a session in rows about other things, the same as in lists of sessions. */
import { sql } from 'drizzle-orm';
import { type TitleParts, titleOf } from '../../model/session.ts';

/** A column of a statement that has the sessions `s`, their rollups `r` and their edits `e`. */
export const titleParts = sql`
  jsonb_build_object('display_name', e.display_name, 'title', r.title, 'preview', r.preview, 'name', r.name,
                     'harness_session_id', left(s.harness_session_id, 12)) as title_parts`;

export const withTitle = <Row extends object>({
  title_parts,
  ...row
}: Row & { title_parts: TitleParts }): Omit<Row, 'title_parts'> & { title: string | null } => ({
  ...row,
  title: titleOf(title_parts),
});
