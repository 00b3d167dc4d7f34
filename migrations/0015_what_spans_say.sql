-- What a failed call was told: the provider's own sentence.
alter table svc.spans add column error_message text not null default '';

-- Of an agent: what it was sent out for, and what its own calls add up to. Not in the columns of usage, so that a sum over all spans
-- counts each token once.
alter table svc.spans add column description text not null default '';
alter table svc.spans add column totals jsonb;

create or replace view svc_v1.spans as
select p.trace_id, p.span_id, p.parent_span_id, p.session_id, p.kind, p.name, p.status, p.error_type, p.call_kind,
       p.thread_id, p.model, p.provider, p.stop_reason, p.external_id, p.started_at, p.ended_at, p.duration_ns,
       p.input, p.output, p.input_tokens, p.output_tokens, p.cache_read_tokens, p.cache_write_5m_tokens,
       p.cache_write_1h_tokens, p.reasoning_tokens, p.usage_verbatim as usage, p.cost_usd, p.raw_turn_id,
       encode(p.node_hash, 'hex') as node_hash, p.seq, p.verdict, p.error_message,
       p.description,
       jsonb_set(p.totals, '{cost_usd}', coalesce(to_jsonb((p.totals ->> 'cost_usd')::numeric), 'null')) as totals
  from svc.spans p
 where not exists (select 1 from svc.session_edits e where e.session_id = p.session_id and e.deleted_at is not null);

-- A session whose last answer its reader broke off.
alter table svc.session_rollups drop constraint session_rollups_status_check;
alter table svc.session_rollups add constraint session_rollups_status_check
  check (status in ('completed', 'failed', 'abandoned', 'interrupted', 'unknown'));

-- As the read API tells them: the title that people see, and no cost where none is known.
create or replace view svc_v1.sessions as
select s.session_id as id, s.auth_subject, s.harness_id, s.harness_session_id, r.name, r.cwd, r.harness_version,
       r.parent_session_id, s.started_at, s.last_seen_at, s.ended_at, r.harness_metadata,
       coalesce(r.input_tokens, 0) as total_input_tokens, coalesce(r.output_tokens, 0) as total_output_tokens,
       case when exists (select from jsonb_array_elements(r.model_usage) as used where used ->> 'cost_usd' is not null)
            then r.cost_usd end as total_cost_usd,
       coalesce(r.trace_count, 0) as turn_count,
       coalesce(r.status, 'unknown') as derived_status, coalesce(r.has_git_activity, false) as has_git_activity,
       coalesce(r.tool_result_count, 0) as tool_result_count, coalesce(r.tool_error_count, 0) as tool_error_count,
       r.title as derived_title, coalesce(r.model, '') as derived_model, r.model_usage,
       coalesce(r.input_tokens, 0) + coalesce(r.output_tokens, 0) as total_tokens,
       (extract(epoch from s.last_seen_at - s.started_at) * 1000000000)::bigint as duration_ns,
       r.tasks, r.kind_counts, e.display_name,
       coalesce((select told.title
                   from unnest(array[e.display_name, r.title,
                          case when r.preview ~ '^\s*[[{]'
                                and (r.preview ~ '^\s*(\{\s*"[^"]*"\s*:|\[\s*\{\s*"[^"]*"\s*:)' or r.preview is json)
                               then null else r.preview end, -- a prompt that is JSON is no title
                          r.name, left(s.harness_session_id, 12)]) with ordinality as told (title, place)
                  where told.title ~ '\S' order by told.place limit 1), s.session_id::text) as display_title
  from svc.sessions s
  left join svc.session_rollups r on r.session_id = s.session_id
  left join svc.session_edits e on e.session_id = s.session_id
 where e.deleted_at is null and not s.is_empty;
