-- The rest of a call that is set aside, so that it can be stored once what refused it is mended. Null in calls of before, and where a call
-- had none.
alter table svc.parked_turns add column response_head jsonb; -- core/capture/journal-format.ts, ResponseHead
alter table svc.parked_turns add column closed jsonb;        -- core/capture/journal-format.ts, CallClosed

-- Where a connection was reset within a transaction, its last statement was sent once more by itself: the raw turn was committed without
-- the count of its session, and every later turn of the session was refused, since its place in the chain was taken.
do $$
declare
  half  record;
  stays boolean; -- all its bytes are stored
begin
  perform set_config('svc.purge', 'on', true);
  for half in
    select t.raw_turn_id, t.session_id, t.session_seq, t.turn_hash, t.prev_hash, t.source, t.provider, t.outcome, t.requested_at,
           coalesce(t.last_byte_at, t.requested_at) as seen_at,
           array(select distinct p.slice_id
                   from (select substring(t.request_pages from 32 * n + 1 for 32) as slice_id
                           from generate_series(0, octet_length(t.request_pages) / 32 - 1) as n
                          union all
                         select * from unnest(array[t.response_slice, t.request_header_template, t.response_header_template])) p
                  where p.slice_id is not null) as slice_ids
      from svc.raw_turns t
      join svc.sessions s on s.session_id = t.session_id and s.turn_count < t.session_seq
     order by t.session_id, t.session_seq
  loop
    select count(distinct slice_id) = cardinality(half.slice_ids) into stays
      from svc.slices where slice_id = any(half.slice_ids);
    if stays then
      insert into svc.derive_queue as q (session_id, from_scratch) values (half.session_id, true)
      on conflict (session_id) do update
         set mark = q.mark + 1, from_scratch = true, attempts = 0, try_after = now(), error = null, parked_at = null;
      insert into svc.coverage as c (day, provider, outcome, requests)
      select (half.requested_at at time zone 'UTC')::date, half.provider, half.outcome, 1 where half.source = 'wire'
      on conflict (day, provider, outcome) do update set requests = c.requests + 1;
    else
      delete from svc.raw_turn_corrections where raw_turn_id = half.raw_turn_id;
      delete from svc.raw_turns where raw_turn_id = half.raw_turn_id;
      insert into svc.tombstones (session_id, raw_turn_id, session_seq, turn_hash, prev_hash, purged_session_id, reason)
      values (half.session_id, half.raw_turn_id, half.session_seq, half.turn_hash, half.prev_hash, half.session_id,
              'the connection was reset before its bodies were stored');
    end if;
    update svc.sessions
       set turn_count = half.session_seq, head_turn_hash = half.turn_hash,
           last_seen_at = greatest(last_seen_at, half.seen_at), purged_turns = purged_turns + (not stays)::integer
     where session_id = half.session_id;
  end loop;
end $$;
