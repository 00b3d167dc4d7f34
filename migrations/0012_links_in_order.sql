-- The links of a session page by page, as those of a trace are by the primary key, and what leads to a trace from another one.
create index span_links_order
  on svc.span_links (session_id, from_trace_id, from_span_id, to_trace_id, to_span_id, kind);
drop index svc.span_links_session;
create index span_links_from_elsewhere on svc.span_links (to_trace_id, from_trace_id, from_span_id, to_span_id, kind)
  where from_trace_id <> to_trace_id;
