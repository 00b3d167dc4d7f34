/** The spans that can be found, and the fingerprint by which a change is noticed. */

/** The version of the fingerprints: with another one all texts are compared again. */
const RECIPE = 4;

/**
 * Computed without reading long texts, since the node hash covers the content, and the size changes with what counts as text. The
 * text is read only where there is no node. '': the span has no text yet.
 */
const FINGERPRINT = `case when s.plain_text is null then '' else concat_ws('/', '${RECIPE}', pg_column_size(s.plain_text),
  coalesce(s.node_hash, md5(s.plain_text)),
  case when s.error_message <> '' then md5(s.error_message) end) end`;

/** Calls of the main conversation. Those inherited from another session are found in that one. @param spans the view, quoted for a statement */
export const listedSpans = (spans: string): string => `
  select s.trace_id, s.span_id, s.session_id, s.started_at, ${FINGERPRINT} as fingerprint, s.plain_text
    from ${spans} s where s.kind = 'llm' and s.call_kind = 'main' and s.inherited_from_session_id is null`;
