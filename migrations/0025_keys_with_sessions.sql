-- Keys that hold the session, so that the tables can be partitioned or distributed by it; nothing refers to another row by a foreign key,
-- which a distributed table could not, and which cost a look-up for each row. One index takes the place of two wherever it can.
alter table svc.spans
  drop constraint spans_trace_id_fkey,
  drop constraint spans_pkey;
drop index svc.spans_span_id;
alter table svc.span_links
  drop constraint span_links_from_trace_id_fkey,
  drop constraint span_links_to_trace_id_fkey,
  drop constraint span_links_pkey;
drop index svc.span_links_order;
drop index svc.span_links_to; -- for the foreign key; readers use span_links_from_elsewhere
alter table svc.traces drop constraint traces_pkey;
alter table svc.nodes drop constraint nodes_pkey;
drop index svc.nodes_hash;

-- The id that is looked for by itself comes first.
alter table svc.traces add primary key (trace_id, session_id);
alter table svc.spans add primary key (span_id, trace_id, session_id);
alter table svc.span_links add primary key (session_id, from_trace_id, from_span_id, to_trace_id, to_span_id, kind);
alter table svc.nodes add primary key (node_hash, session_id);
