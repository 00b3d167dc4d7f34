-- What the nodes of a session come to day by day, so that totals over millions of nodes read thousands of rows. A cell equals the
-- group-by over svc.nodes at any moment: triggers keep it, within whatever statement writes nodes. Nodes of a session are written
-- under that session's lock, so nobody waits for a cell. (core/db/read/read-stats.ts)

-- Is this the last word of a conversation that came to its end? (Seed, 'Stats aggregate'.)
create function svc.is_completed(is_head boolean, role text, stop_reason text) returns boolean language sql immutable
return is_head and role = 'assistant' and lower(stop_reason) in ('stop', 'end_turn', 'end-turn', 'eos');

create function svc.is_unpriced(cost_usd numeric, input_tokens bigint, output_tokens bigint) returns boolean
language sql immutable
return cost_usd is null and (input_tokens > 0 or output_tokens > 0);

create function svc.day_of(at timestamptz) returns date language sql immutable
return (at at time zone 'UTC')::date;

-- Clients choose these, and no index holds text of any length: cells are told apart by a digest.
create function svc.attributes_digest(project text, agent_name text, model text, provider text) returns bytea
language sql stable
return substring(sha256(convert_to(row(project, agent_name, model, provider)::text, 'UTF8')) for 16);

create table svc.stat_cells (
  session_id      uuid not null,
  day             date not null,            -- of created_at, in UTC
  turn_count      bigint not null,
  root_count      bigint not null,          -- roots that are not injected
  head_count      bigint not null,
  completed_count bigint not null,          -- svc.is_completed
  tool_calls      bigint not null,
  unpriced_count  bigint not null,          -- svc.is_unpriced
  first_at        timestamptz not null,     -- the lowest created_at
  last_at         timestamptz not null,     -- the highest
  input_tokens    numeric not null,         -- no token count that a client made up overflows them
  output_tokens   numeric not null,
  cost_usd        numeric not null,         -- of the nodes that have a price
  attributes      bytea not null,           -- svc.attributes_digest of the next four
  project         text not null,
  agent_name      text not null,
  model           text not null,
  provider        text not null,
  primary key (session_id, day, attributes)
) with (fillfactor = 80);                   -- room to update in place: each turn of a session does

create function svc.add_to_stat_cells() returns trigger language plpgsql as $body$
begin
  if not exists (select from added) then return null; end if;
  insert into svc.stat_cells as c (
    session_id, day, turn_count, root_count, head_count, completed_count, tool_calls, unpriced_count, first_at, last_at,
    input_tokens, output_tokens, cost_usd, attributes, project, agent_name, model, provider)
  select n.session_id, svc.day_of(n.created_at), count(*), count(*) filter (where n.is_root and n.injected = ''),
         count(*) filter (where n.is_head), count(*) filter (where svc.is_completed(n.is_head, n.role, n.stop_reason)),
         sum(n.tool_calls), count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)),
         min(n.created_at), max(n.created_at), sum(n.input_tokens), sum(n.output_tokens), coalesce(sum(n.cost_usd), 0),
         svc.attributes_digest(n.project, n.agent_name, n.model, n.provider), n.project, n.agent_name, n.model, n.provider
    from added n
   group by n.session_id, svc.day_of(n.created_at), n.project, n.agent_name, n.model, n.provider
  on conflict (session_id, day, attributes) do update set
    turn_count = c.turn_count + excluded.turn_count,
    root_count = c.root_count + excluded.root_count,
    head_count = c.head_count + excluded.head_count,
    completed_count = c.completed_count + excluded.completed_count,
    tool_calls = c.tool_calls + excluded.tool_calls,
    unpriced_count = c.unpriced_count + excluded.unpriced_count,
    first_at = least(c.first_at, excluded.first_at),
    last_at = greatest(c.last_at, excluded.last_at),
    input_tokens = c.input_tokens + excluded.input_tokens,
    output_tokens = c.output_tokens + excluded.output_tokens,
    cost_usd = c.cost_usd + excluded.cost_usd;
  return null;
end $body$;

create function svc.take_from_stat_cells() returns trigger language plpgsql as $body$
begin
  if not exists (select from removed) then return null; end if;
  update svc.stat_cells c set
    turn_count = c.turn_count - r.turn_count,
    root_count = c.root_count - r.root_count,
    head_count = c.head_count - r.head_count,
    completed_count = c.completed_count - r.completed_count,
    tool_calls = c.tool_calls - r.tool_calls,
    unpriced_count = c.unpriced_count - r.unpriced_count,
    input_tokens = c.input_tokens - r.input_tokens,
    output_tokens = c.output_tokens - r.output_tokens,
    cost_usd = c.cost_usd - r.cost_usd
    from (select n.session_id, svc.day_of(n.created_at) as day, count(*) as turn_count,
                 svc.attributes_digest(n.project, n.agent_name, n.model, n.provider) as attributes,
                 count(*) filter (where n.is_root and n.injected = '') as root_count,
                 count(*) filter (where n.is_head) as head_count,
                 count(*) filter (where svc.is_completed(n.is_head, n.role, n.stop_reason)) as completed_count,
                 count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)) as unpriced_count,
                 sum(n.tool_calls) as tool_calls, sum(n.input_tokens) as input_tokens,
                 sum(n.output_tokens) as output_tokens, coalesce(sum(n.cost_usd), 0) as cost_usd
            from removed n
           group by n.session_id, svc.day_of(n.created_at), n.project, n.agent_name, n.model, n.provider) r
   where c.session_id = r.session_id and c.day = r.day and c.attributes = r.attributes;
  delete from svc.stat_cells c
   where c.turn_count = 0 and c.session_id = any(array(select distinct n.session_id from removed n));

  -- Bounds cannot be subtracted. They may have moved only where a node has left its cell, which is rare: every turn takes
  -- is_head from a node, and that one stays.
  update svc.stat_cells c set first_at = b.first_at, last_at = b.last_at
    from (select distinct r.session_id, svc.day_of(r.created_at) as day, r.project, r.agent_name, r.model, r.provider,
                 svc.attributes_digest(r.project, r.agent_name, r.model, r.provider) as attributes
            from removed r
           where not exists (
             select from svc.nodes n
              where n.session_id = r.session_id and n.node_hash = r.node_hash and n.created_at = r.created_at
                and (n.project, n.agent_name, n.model, n.provider) = (r.project, r.agent_name, r.model, r.provider))) l
         join svc.stat_cells k on k.session_id = l.session_id and k.day = l.day and k.attributes = l.attributes,
         lateral (
           select min(n.created_at) as first_at, max(n.created_at) as last_at
             from svc.nodes n
            where n.session_id = l.session_id and svc.day_of(n.created_at) = l.day
              and (n.project, n.agent_name, n.model, n.provider) = (l.project, l.agent_name, l.model, l.provider)) b
   where c.session_id = l.session_id and c.day = l.day and c.attributes = l.attributes
     and (c.first_at, c.last_at) is distinct from (b.first_at, b.last_at);
  return null;
end $body$;

create function svc.empty_stat_cells() returns trigger language plpgsql as $body$
begin
  delete from svc.stat_cells; -- truncate refuses when both are truncated by one statement
  return null;
end $body$;

insert into svc.stat_cells (
  session_id, day, turn_count, root_count, head_count, completed_count, tool_calls, unpriced_count, first_at, last_at,
  input_tokens, output_tokens, cost_usd, attributes, project, agent_name, model, provider)
select n.session_id, svc.day_of(n.created_at), count(*), count(*) filter (where n.is_root and n.injected = ''),
       count(*) filter (where n.is_head), count(*) filter (where svc.is_completed(n.is_head, n.role, n.stop_reason)),
       sum(n.tool_calls), count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)),
       min(n.created_at), max(n.created_at), sum(n.input_tokens), sum(n.output_tokens), coalesce(sum(n.cost_usd), 0),
       svc.attributes_digest(n.project, n.agent_name, n.model, n.provider), n.project, n.agent_name, n.model, n.provider
  from svc.nodes n
 group by n.session_id, svc.day_of(n.created_at), n.project, n.agent_name, n.model, n.provider;

-- Of an update the new rows are added before the old ones are taken away (triggers fire in the order of their names), so that no
-- cell is empty in between.
create trigger nodes_added after insert on svc.nodes
  referencing new table as added for each statement execute function svc.add_to_stat_cells();
create trigger nodes_changed_1_added after update on svc.nodes
  referencing new table as added for each statement execute function svc.add_to_stat_cells();
create trigger nodes_changed_2_removed after update on svc.nodes
  referencing old table as removed for each statement execute function svc.take_from_stat_cells();
create trigger nodes_removed after delete on svc.nodes
  referencing old table as removed for each statement execute function svc.take_from_stat_cells();
create trigger nodes_truncated after truncate on svc.nodes
  for each statement execute function svc.empty_stat_cells();
