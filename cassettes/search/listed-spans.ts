/** The spans that can be found, and the fingerprint by which a change is noticed. */

/** The version of the fingerprints: with another one all texts are compared again. */
const RECIPE = 3;

/** Computed without reading the payloads, since the node hash covers the content. Payloads are read only where there is no node. */
const FINGERPRINT = `concat_ws('/', '${RECIPE}', pg_column_size(s.input), pg_column_size(s.output),
  coalesce(s.node_hash, md5(s.input::text || s.output::text)),
  case when s.error_message <> '' then md5(s.error_message) end,
  coalesce(array_to_string(s.said_blocks, ','), 'all'))`;

/** Calls of the main conversation. Those inherited from another session are found in that one. @param spans the view, quoted for a statement */
export const listedSpans = (spans: string): string => `
  select s.trace_id, s.span_id, s.session_id, s.started_at, ${FINGERPRINT} as fingerprint, s.input, s.output,
         s.error_message, s.said_blocks
    from ${spans} s where s.kind = 'llm' and s.call_kind = 'main' and s.inherited_from_session_id is null`;
