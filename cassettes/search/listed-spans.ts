/** Which spans can be found, and how is it told that one changed? */

/** In the fingerprints: another one has all texts looked at again. */
const RECIPE = 3;

/** Told without reading the payloads: the node is named by its content. Where there is none, they are read. */
const FINGERPRINT = `concat_ws('/', '${RECIPE}', pg_column_size(s.input), pg_column_size(s.output),
  coalesce(s.node_hash, md5(s.input::text || s.output::text)),
  case when s.error_message <> '' then md5(s.error_message) end,
  coalesce(array_to_string(s.said_blocks, ','), 'all'))`;

/** Calls of the main conversation; what a session brought along from another is found there. @param spans the view, as it stands in a statement */
export const listedSpans = (spans: string): string => `
  select s.trace_id, s.span_id, s.session_id, s.started_at, ${FINGERPRINT} as fingerprint, s.input, s.output,
         s.error_message, s.said_blocks
    from ${spans} s where s.kind = 'llm' and s.call_kind = 'main' and s.inherited_from_session_id is null`;
