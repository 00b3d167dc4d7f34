-- The words of a call of the conversation, without what a harness wraps around them: search embeds these. null: the span is no such call,
-- the call counts in another session, or the session has not been derived again yet. Only such calls have it, so that it costs little.
alter table svc.spans add column plain_text text;

create or replace view svc_v1.spans as
select p.trace_id, p.span_id, p.parent_span_id, p.session_id, p.kind, p.name, p.status, p.error_type, p.call_kind,
       p.thread_id, p.model, p.provider, p.stop_reason, p.external_id, p.started_at, p.ended_at, p.duration_ns,
       p.input, p.output, p.input_tokens, p.output_tokens, p.cache_read_tokens, p.cache_write_5m_tokens,
       p.cache_write_1h_tokens, p.reasoning_tokens, p.usage_verbatim as usage, p.cost_usd, p.raw_turn_id,
       encode(p.node_hash, 'hex') as node_hash, p.seq, p.verdict, p.error_message,
       p.description,
       jsonb_set(p.totals, '{cost_usd}', coalesce(to_jsonb((p.totals ->> 'cost_usd')::numeric), 'null')) as totals,
       p.inherited_from as inherited_from_session_id,
       p.said_blocks,
       p.plain_text
  from svc.spans p
 where not exists (select 1 from svc.session_edits e where e.session_id = p.session_id and e.deleted_at is not null);

comment on column svc_v1.spans.plain_text is
  'Of a call of the main conversation: what a person wrote and the model answered, and the provider''s message of a failure, without what a harness wraps around it; at most 524288 UTF-16 units. null: any other span, a call that counts in another session, or one not derived yet';
