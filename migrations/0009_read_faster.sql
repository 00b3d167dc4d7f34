-- Reads that stay quick at size: totals of all sessions day by day, the heads of sessions in an index, and what a span unpacks to.

-- What all nodes come to day by day, so that totals over a hundred thousand sessions read as many rows as there are days and names,
-- and cells only of the days that a bound cuts. The rows of one (day, attributes) together are its total: whoever writes adds to
-- those that nobody else holds and makes them one, so that no writer waits for another, and few rows stand. Deleted sessions count
-- here; who reads takes their cells away. (core/db/read/read-stats.ts)
create table svc.stat_days (
  day            date not null,             -- as in svc.stat_cells, like all that follows
  attributes     bytea not null,
  turn_count     bigint not null,
  root_count     bigint not null,
  tool_calls     bigint not null,
  unpriced_count bigint not null,
  input_tokens   numeric not null,
  output_tokens  numeric not null,
  cost_usd       numeric not null,
  project        text not null,
  agent_name     text not null,
  model          text not null,
  provider       text not null
) with (fillfactor = 80);                   -- room to update in place, as most turns do
create index stat_days_key on svc.stat_days (day, attributes);

create function svc.add_to_stat_days(changes svc.stat_days[]) returns void language plpgsql as $body$
declare
  change svc.stat_days;
  held   tid[];
  kept   tid;
  empty  boolean;
begin
  foreach change in array changes loop
    -- In a statement of its own: the next one sees these rows as they were when they were locked.
    held := array(
      select d.ctid
        from svc.stat_days d
       where d.day = change.day and d.attributes = change.attributes
         for update skip locked);
    if held = '{}' then
      insert into svc.stat_days select change.*;
      continue;
    end if;
    update svc.stat_days d set
      turn_count = t.turn_count + change.turn_count,
      root_count = t.root_count + change.root_count,
      tool_calls = t.tool_calls + change.tool_calls,
      unpriced_count = t.unpriced_count + change.unpriced_count,
      input_tokens = t.input_tokens + change.input_tokens,
      output_tokens = t.output_tokens + change.output_tokens,
      cost_usd = t.cost_usd + change.cost_usd
      from (select sum(h.turn_count) as turn_count, sum(h.root_count) as root_count, sum(h.tool_calls) as tool_calls,
                   sum(h.unpriced_count) as unpriced_count, sum(h.input_tokens) as input_tokens,
                   sum(h.output_tokens) as output_tokens, sum(h.cost_usd) as cost_usd
              from svc.stat_days h
             where h.ctid = any(held)) t
     where d.ctid = held[1]
    -- Of what others hold, the turns may be counted there and the tokens here: a row goes when nothing is left of it.
    returning d.ctid, (d.turn_count, d.root_count, d.tool_calls, d.unpriced_count, d.input_tokens, d.output_tokens, d.cost_usd)
                      = (0, 0, 0, 0, 0, 0, 0)
      into kept, empty;
    held := held[2:];
    if empty then held := held || kept; end if;
    if held <> '{}' then
      delete from svc.stat_days d where d.ctid = any(held);
    end if;
  end loop;
end $body$;

create function svc.days_of_added() returns trigger language plpgsql as $body$
begin
  perform svc.add_to_stat_days(array(
    select row(svc.day_of(n.created_at), svc.attributes_digest(n.project, n.agent_name, n.model, n.provider), count(*),
               count(*) filter (where n.is_root and n.injected = ''), sum(n.tool_calls),
               count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)), sum(n.input_tokens),
               sum(n.output_tokens), coalesce(sum(n.cost_usd), 0), n.project, n.agent_name, n.model, n.provider)::svc.stat_days
      from added n
     group by svc.day_of(n.created_at), n.project, n.agent_name, n.model, n.provider));
  return null;
end $body$;

create function svc.days_of_removed() returns trigger language plpgsql as $body$
begin
  perform svc.add_to_stat_days(array(
    select row(svc.day_of(n.created_at), svc.attributes_digest(n.project, n.agent_name, n.model, n.provider), -count(*),
               -count(*) filter (where n.is_root and n.injected = ''), -sum(n.tool_calls),
               -count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)), -sum(n.input_tokens),
               -sum(n.output_tokens), -coalesce(sum(n.cost_usd), 0), n.project, n.agent_name, n.model, n.provider)::svc.stat_days
      from removed n
     group by svc.day_of(n.created_at), n.project, n.agent_name, n.model, n.provider));
  return null;
end $body$;

-- Every turn takes is_head from a node, which changes no total: then nothing is written.
create function svc.days_of_changed() returns trigger language plpgsql as $body$
begin
  perform svc.add_to_stat_days(array(
    select row(c.day, svc.attributes_digest(c.project, c.agent_name, c.model, c.provider), c.turn_count, c.root_count,
               c.tool_calls, c.unpriced_count, c.input_tokens, c.output_tokens, c.cost_usd,
               c.project, c.agent_name, c.model, c.provider)::svc.stat_days
      from (select svc.day_of(n.created_at) as day, n.project, n.agent_name, n.model, n.provider,
                   sum(n.times) as turn_count, coalesce(sum(n.times) filter (where n.is_root and n.injected = ''), 0) as root_count,
                   sum(n.times * n.tool_calls) as tool_calls,
                   coalesce(sum(n.times) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)), 0)
                     as unpriced_count,
                   sum(n.times * n.input_tokens::numeric) as input_tokens,
                   sum(n.times * n.output_tokens::numeric) as output_tokens,
                   coalesce(sum(n.times * n.cost_usd), 0) as cost_usd
              from (select 1 as times, a.* from added a union all select -1, r.* from removed r) n
             group by 1, 2, 3, 4, 5) c
     where (c.turn_count, c.root_count, c.tool_calls, c.unpriced_count, c.input_tokens, c.output_tokens, c.cost_usd)
           <> (0, 0, 0, 0, 0, 0, 0)));
  return null;
end $body$;

create function svc.empty_stat_days() returns trigger language plpgsql as $body$
begin
  delete from svc.stat_days; -- truncate refuses when both are truncated by one statement
  return null;
end $body$;

create trigger nodes_days_added after insert on svc.nodes
  referencing new table as added for each statement execute function svc.days_of_added();
create trigger nodes_days_changed after update on svc.nodes
  referencing old table as removed new table as added for each statement execute function svc.days_of_changed();
create trigger nodes_days_removed after delete on svc.nodes
  referencing old table as removed for each statement execute function svc.days_of_removed();
create trigger nodes_days_truncated after truncate on svc.nodes
  for each statement execute function svc.empty_stat_days();

insert into svc.stat_days (
  day, attributes, turn_count, root_count, tool_calls, unpriced_count, input_tokens, output_tokens, cost_usd,
  project, agent_name, model, provider)
select c.day, c.attributes, sum(c.turn_count), sum(c.root_count), sum(c.tool_calls), sum(c.unpriced_count),
       sum(c.input_tokens), sum(c.output_tokens), sum(c.cost_usd), c.project, c.agent_name, c.model, c.provider
  from svc.stat_cells c
 group by c.day, c.attributes, c.project, c.agent_name, c.model, c.provider;

-- Which sessions have heads is told by an index alone. Flags, since counts change with each turn and would move the entries.
alter table svc.stat_cells
  add column has_head boolean not null generated always as (head_count > 0) stored,
  add column has_completed boolean not null generated always as (completed_count > 0) stored;
create index stat_cells_heads on svc.stat_cells (session_id, day) include (has_completed) where has_head;
create index stat_cells_day on svc.stat_cells (day);

-- What a span's payload unpacks to, as text: a page of spans is bounded before any of it is unpacked.
alter table svc.spans add column payload_bytes bigint not null generated always as (
  octet_length(input::text) + octet_length(output::text)
  + coalesce(octet_length(verdict::text), 0) + coalesce(octet_length(usage_verbatim::text), 0)::bigint) stored;

-- The records of a session in the order in which they were stored, and those that were corrected to it.
create index raw_turns_session on svc.raw_turns (session_id, raw_turn_id);
create index raw_turn_corrections_order on svc.raw_turn_corrections (session_id, raw_turn_id);
drop index svc.raw_turn_corrections_session;
