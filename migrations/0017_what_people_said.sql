-- Of a call's input, which blocks a person said: the others are the system's and the harness's. Places, 0 first; null: not derived yet.
alter table svc.spans add column said_blocks integer[];

-- With that, with what 0015 added, and with the session in which a call counts that another one shows as its history.
create or replace view svc_v1.spans as
select p.trace_id, p.span_id, p.parent_span_id, p.session_id, p.kind, p.name, p.status, p.error_type, p.call_kind,
       p.thread_id, p.model, p.provider, p.stop_reason, p.external_id, p.started_at, p.ended_at, p.duration_ns,
       p.input, p.output, p.input_tokens, p.output_tokens, p.cache_read_tokens, p.cache_write_5m_tokens,
       p.cache_write_1h_tokens, p.reasoning_tokens, p.usage_verbatim as usage, p.cost_usd, p.raw_turn_id,
       encode(p.node_hash, 'hex') as node_hash, p.seq, p.verdict, p.error_message,
       p.description,
       jsonb_set(p.totals, '{cost_usd}', coalesce(to_jsonb((p.totals ->> 'cost_usd')::numeric), 'null')) as totals,
       p.inherited_from as inherited_from_session_id,
       p.said_blocks
  from svc.spans p
 where not exists (select 1 from svc.session_edits e where e.session_id = p.session_id and e.deleted_at is not null);
