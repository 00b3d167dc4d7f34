-- Where a call's harness runs and which it is, as the call's own words have it.
alter table svc.calls add column cwd text not null default '';
alter table svc.calls add column git_branch text not null default '';
alter table svc.calls add column agent_name text not null default '';
alter table svc.session_rollups add column git_branch text;

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
                  where told.title ~ '\S' order by told.place limit 1), s.session_id::text) as display_title,
       r.git_branch, coalesce(s.fork_of_session_id, r.fork_of_session_id) as fork_of_session_id,
       coalesce(r.inherited_calls, 0) as inherited_calls, r.inherited_cost_usd
  from svc.sessions s
  left join svc.session_rollups r on r.session_id = s.session_id
  left join svc.session_edits e on e.session_id = s.session_id
 where e.deleted_at is null and not s.is_empty;
