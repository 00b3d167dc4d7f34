-- The contract of the database: stable names for cassettes. Columns are listed one by one, so that a new column of a table
-- joins the contract only when a migration says so.
create schema svc_v1;

create view svc_v1.sessions as
select s.session_id as id, s.auth_subject, s.harness_id, s.harness_session_id, r.name, r.cwd, r.harness_version,
       r.parent_session_id, s.started_at, s.last_seen_at, s.ended_at, r.harness_metadata,
       coalesce(r.input_tokens, 0) as total_input_tokens, coalesce(r.output_tokens, 0) as total_output_tokens,
       coalesce(r.cost_usd, 0) as total_cost_usd, coalesce(r.trace_count, 0) as turn_count,
       coalesce(r.status, 'unknown') as derived_status, coalesce(r.has_git_activity, false) as has_git_activity,
       coalesce(r.tool_result_count, 0) as tool_result_count, coalesce(r.tool_error_count, 0) as tool_error_count,
       r.title as derived_title, coalesce(r.model, '') as derived_model, r.model_usage,
       coalesce(r.input_tokens, 0) + coalesce(r.output_tokens, 0) as total_tokens,
       (extract(epoch from s.last_seen_at - s.started_at) * 1000000000)::bigint as duration_ns,
       r.tasks, r.kind_counts, e.display_name
  from svc.sessions s
  left join svc.session_rollups r on r.session_id = s.session_id
  left join svc.session_edits e on e.session_id = s.session_id
 where e.deleted_at is null;

create view svc_v1.span_turns as
select t.trace_id, t.session_id, t.user_prompt, t.synthetic, t.status, t.started_at, t.ended_at, t.duration_ns,
       t.input_tokens as total_input_tokens, t.output_tokens as total_output_tokens, t.cost_usd as total_cost_usd,
       t.main_input_tokens, t.main_output_tokens, t.cache_read_tokens, t.cache_write_tokens as cache_creation_tokens,
       t.response_preview, t.source, t.tool_calls
  from svc.traces t
 where not exists (select 1 from svc.session_edits e where e.session_id = t.session_id and e.deleted_at is not null);

create view svc_v1.spans as
select p.trace_id, p.span_id, p.parent_span_id, p.session_id, p.kind, p.name, p.status, p.error_type, p.call_kind,
       p.thread_id, p.model, p.provider, p.stop_reason, p.external_id, p.started_at, p.ended_at, p.duration_ns,
       p.input, p.output, p.input_tokens, p.output_tokens, p.cache_read_tokens, p.cache_write_5m_tokens,
       p.cache_write_1h_tokens, p.reasoning_tokens, p.usage_verbatim as usage, p.cost_usd, p.raw_turn_id,
       encode(p.node_hash, 'hex') as node_hash, p.seq, p.verdict
  from svc.spans p
 where not exists (select 1 from svc.session_edits e where e.session_id = p.session_id and e.deleted_at is not null);

create view svc_v1.span_links as
select l.from_trace_id, l.from_span_id, l.from_io, l.to_trace_id, l.to_span_id, l.to_io, l.kind, l.session_id
  from svc.span_links l
 where not exists (select 1 from svc.session_edits e where e.session_id = l.session_id and e.deleted_at is not null);
