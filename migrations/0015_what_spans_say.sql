-- What a failed call was told: the provider's own sentence.
alter table svc.spans add column error_message text not null default '';

create or replace view svc_v1.spans as
select p.trace_id, p.span_id, p.parent_span_id, p.session_id, p.kind, p.name, p.status, p.error_type, p.call_kind,
       p.thread_id, p.model, p.provider, p.stop_reason, p.external_id, p.started_at, p.ended_at, p.duration_ns,
       p.input, p.output, p.input_tokens, p.output_tokens, p.cache_read_tokens, p.cache_write_5m_tokens,
       p.cache_write_1h_tokens, p.reasoning_tokens, p.usage_verbatim as usage, p.cost_usd, p.raw_turn_id,
       encode(p.node_hash, 'hex') as node_hash, p.seq, p.verdict, p.error_message
  from svc.spans p
 where not exists (select 1 from svc.session_edits e where e.session_id = p.session_id and e.deleted_at is not null);

-- A session whose last answer its reader broke off.
alter table svc.session_rollups drop constraint session_rollups_status_check;
alter table svc.session_rollups add constraint session_rollups_status_check
  check (status in ('completed', 'failed', 'abandoned', 'interrupted', 'unknown'));
