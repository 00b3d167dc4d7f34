-- What a cost comes to by kind of token, with each answer and in its sums, so that spend over any window is shown in its parts
-- without reading nodes; and the budgets that were crossed. What an earlier release stored has a cost whose parts are not known
-- (`cost_usd` less the parts): they come with the next derivation of the session, which newer rules bring about in the background.
-- Nothing is rewritten here but the cells and days of tokens that were cached, reasoned, or are without a price.
alter table svc.nodes
  add column cost_fresh numeric,
  add column cost_cache_read numeric,
  add column cost_cache_write_5m numeric,
  add column cost_cache_write_1h numeric,
  add column cost_output numeric,
  add column cost_reasoning numeric;
comment on column svc.nodes.cost_fresh is 'USD; null, like the five after it: nothing, or not known';

alter table svc.stat_cells
  add column cache_read_tokens numeric not null default 0,
  add column cache_write_tokens numeric not null default 0,
  add column reasoning_tokens numeric not null default 0,
  add column unpriced_tokens numeric not null default 0,
  add column cost_fresh numeric not null default 0,
  add column cost_cache_read numeric not null default 0,
  add column cost_cache_write_5m numeric not null default 0,
  add column cost_cache_write_1h numeric not null default 0,
  add column cost_output numeric not null default 0,
  add column cost_reasoning numeric not null default 0;
alter table svc.stat_days -- the same, in this order: rows are written whole
  add column cache_read_tokens numeric not null default 0,
  add column cache_write_tokens numeric not null default 0,
  add column reasoning_tokens numeric not null default 0,
  add column unpriced_tokens numeric not null default 0,
  add column cost_fresh numeric not null default 0,
  add column cost_cache_read numeric not null default 0,
  add column cost_cache_write_5m numeric not null default 0,
  add column cost_cache_write_1h numeric not null default 0,
  add column cost_output numeric not null default 0,
  add column cost_reasoning numeric not null default 0;

-- Tokens of an answer that has no price; null: it has one. As numeric: two counts that a client made up overflow no sum.
create function svc.unpriced_tokens(cost_usd numeric, input_tokens bigint, output_tokens bigint) returns numeric
language sql immutable
return case when cost_usd is null then input_tokens::numeric + output_tokens end;

create or replace function svc.add_to_stat_cells() returns trigger language plpgsql as $body$
begin
  if not exists (select from added) then return null; end if;
  insert into svc.stat_cells as c (
    session_id, day, turn_count, root_count, head_count, completed_count, tool_calls, unpriced_count, first_at, last_at,
    input_tokens, output_tokens, cost_usd, cache_read_tokens, cache_write_tokens, reasoning_tokens, unpriced_tokens, cost_fresh,
    cost_cache_read, cost_cache_write_5m, cost_cache_write_1h, cost_output, cost_reasoning, attributes, project, agent_name,
    model, provider)
  select n.session_id, svc.day_of(n.created_at), count(*), count(*) filter (where n.is_root and n.injected = ''),
         count(*) filter (where n.is_head), count(*) filter (where svc.is_completed(n.is_head, n.role, n.stop_reason)),
         sum(n.tool_calls), count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)),
         min(n.created_at), max(n.created_at), sum(n.input_tokens), sum(n.output_tokens), coalesce(sum(n.cost_usd), 0),
         sum(n.cache_read_tokens), sum(n.cache_write_5m_tokens::numeric + n.cache_write_1h_tokens), sum(n.reasoning_tokens),
         coalesce(sum(svc.unpriced_tokens(n.cost_usd, n.input_tokens, n.output_tokens)), 0), coalesce(sum(n.cost_fresh), 0),
         coalesce(sum(n.cost_cache_read), 0), coalesce(sum(n.cost_cache_write_5m), 0), coalesce(sum(n.cost_cache_write_1h), 0),
         coalesce(sum(n.cost_output), 0), coalesce(sum(n.cost_reasoning), 0),
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
    cost_usd = c.cost_usd + excluded.cost_usd,
    cache_read_tokens = c.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = c.cache_write_tokens + excluded.cache_write_tokens,
    reasoning_tokens = c.reasoning_tokens + excluded.reasoning_tokens,
    unpriced_tokens = c.unpriced_tokens + excluded.unpriced_tokens,
    cost_fresh = c.cost_fresh + excluded.cost_fresh,
    cost_cache_read = c.cost_cache_read + excluded.cost_cache_read,
    cost_cache_write_5m = c.cost_cache_write_5m + excluded.cost_cache_write_5m,
    cost_cache_write_1h = c.cost_cache_write_1h + excluded.cost_cache_write_1h,
    cost_output = c.cost_output + excluded.cost_output,
    cost_reasoning = c.cost_reasoning + excluded.cost_reasoning;
  return null;
end $body$;

create or replace function svc.take_from_stat_cells() returns trigger language plpgsql as $body$
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
    cost_usd = c.cost_usd - r.cost_usd,
    cache_read_tokens = c.cache_read_tokens - r.cache_read_tokens,
    cache_write_tokens = c.cache_write_tokens - r.cache_write_tokens,
    reasoning_tokens = c.reasoning_tokens - r.reasoning_tokens,
    unpriced_tokens = c.unpriced_tokens - r.unpriced_tokens,
    cost_fresh = c.cost_fresh - r.cost_fresh,
    cost_cache_read = c.cost_cache_read - r.cost_cache_read,
    cost_cache_write_5m = c.cost_cache_write_5m - r.cost_cache_write_5m,
    cost_cache_write_1h = c.cost_cache_write_1h - r.cost_cache_write_1h,
    cost_output = c.cost_output - r.cost_output,
    cost_reasoning = c.cost_reasoning - r.cost_reasoning
    from (select n.session_id, svc.day_of(n.created_at) as day, count(*) as turn_count,
                 svc.attributes_digest(n.project, n.agent_name, n.model, n.provider) as attributes,
                 count(*) filter (where n.is_root and n.injected = '') as root_count,
                 count(*) filter (where n.is_head) as head_count,
                 count(*) filter (where svc.is_completed(n.is_head, n.role, n.stop_reason)) as completed_count,
                 count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)) as unpriced_count,
                 sum(n.tool_calls) as tool_calls, sum(n.input_tokens) as input_tokens,
                 sum(n.output_tokens) as output_tokens, coalesce(sum(n.cost_usd), 0) as cost_usd,
                 sum(n.cache_read_tokens) as cache_read_tokens,
                 sum(n.cache_write_5m_tokens::numeric + n.cache_write_1h_tokens) as cache_write_tokens,
                 sum(n.reasoning_tokens) as reasoning_tokens,
                 coalesce(sum(svc.unpriced_tokens(n.cost_usd, n.input_tokens, n.output_tokens)), 0) as unpriced_tokens,
                 coalesce(sum(n.cost_fresh), 0) as cost_fresh, coalesce(sum(n.cost_cache_read), 0) as cost_cache_read,
                 coalesce(sum(n.cost_cache_write_5m), 0) as cost_cache_write_5m,
                 coalesce(sum(n.cost_cache_write_1h), 0) as cost_cache_write_1h, coalesce(sum(n.cost_output), 0) as cost_output,
                 coalesce(sum(n.cost_reasoning), 0) as cost_reasoning
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

create or replace function svc.add_to_stat_days(changes svc.stat_days[]) returns void language plpgsql as $body$
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
      cost_usd = t.cost_usd + change.cost_usd,
      cache_read_tokens = t.cache_read_tokens + change.cache_read_tokens,
      cache_write_tokens = t.cache_write_tokens + change.cache_write_tokens,
      reasoning_tokens = t.reasoning_tokens + change.reasoning_tokens,
      unpriced_tokens = t.unpriced_tokens + change.unpriced_tokens,
      cost_fresh = t.cost_fresh + change.cost_fresh,
      cost_cache_read = t.cost_cache_read + change.cost_cache_read,
      cost_cache_write_5m = t.cost_cache_write_5m + change.cost_cache_write_5m,
      cost_cache_write_1h = t.cost_cache_write_1h + change.cost_cache_write_1h,
      cost_output = t.cost_output + change.cost_output,
      cost_reasoning = t.cost_reasoning + change.cost_reasoning
      from (select sum(h.turn_count) as turn_count, sum(h.root_count) as root_count, sum(h.tool_calls) as tool_calls,
                   sum(h.unpriced_count) as unpriced_count, sum(h.input_tokens) as input_tokens,
                   sum(h.output_tokens) as output_tokens, sum(h.cost_usd) as cost_usd,
                   sum(h.cache_read_tokens) as cache_read_tokens, sum(h.cache_write_tokens) as cache_write_tokens,
                   sum(h.reasoning_tokens) as reasoning_tokens, sum(h.unpriced_tokens) as unpriced_tokens,
                   sum(h.cost_fresh) as cost_fresh, sum(h.cost_cache_read) as cost_cache_read,
                   sum(h.cost_cache_write_5m) as cost_cache_write_5m, sum(h.cost_cache_write_1h) as cost_cache_write_1h,
                   sum(h.cost_output) as cost_output, sum(h.cost_reasoning) as cost_reasoning
              from svc.stat_days h
             where h.ctid = any(held)) t
     where d.ctid = held[1]
    -- Of what others hold, the turns may be counted there and the tokens here: a row goes when nothing is left of it.
    returning d.ctid, (d.turn_count, d.root_count, d.tool_calls, d.unpriced_count, d.input_tokens, d.output_tokens, d.cost_usd,
                       d.cache_read_tokens, d.cache_write_tokens, d.reasoning_tokens, d.unpriced_tokens, d.cost_fresh,
                       d.cost_cache_read, d.cost_cache_write_5m, d.cost_cache_write_1h, d.cost_output, d.cost_reasoning)
                      = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
      into kept, empty;
    held := held[2:];
    if empty then held := held || kept; end if;
    if held <> '{}' then
      delete from svc.stat_days d where d.ctid = any(held);
    end if;
  end loop;
end $body$;

create or replace function svc.days_of_added() returns trigger language plpgsql as $body$
begin
  perform svc.add_to_stat_days(array(
    select row(svc.day_of(n.created_at), svc.attributes_digest(n.project, n.agent_name, n.model, n.provider), count(*),
               count(*) filter (where n.is_root and n.injected = ''), sum(n.tool_calls),
               count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)), sum(n.input_tokens),
               sum(n.output_tokens), coalesce(sum(n.cost_usd), 0), n.project, n.agent_name, n.model, n.provider,
               sum(n.cache_read_tokens), sum(n.cache_write_5m_tokens::numeric + n.cache_write_1h_tokens),
               sum(n.reasoning_tokens), coalesce(sum(svc.unpriced_tokens(n.cost_usd, n.input_tokens, n.output_tokens)), 0),
               coalesce(sum(n.cost_fresh), 0), coalesce(sum(n.cost_cache_read), 0), coalesce(sum(n.cost_cache_write_5m), 0),
               coalesce(sum(n.cost_cache_write_1h), 0), coalesce(sum(n.cost_output), 0), coalesce(sum(n.cost_reasoning), 0))::svc.stat_days
      from added n
     group by svc.day_of(n.created_at), n.project, n.agent_name, n.model, n.provider));
  return null;
end $body$;

create or replace function svc.days_of_removed() returns trigger language plpgsql as $body$
begin
  perform svc.add_to_stat_days(array(
    select row(svc.day_of(n.created_at), svc.attributes_digest(n.project, n.agent_name, n.model, n.provider), -count(*),
               -count(*) filter (where n.is_root and n.injected = ''), -sum(n.tool_calls),
               -count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)), -sum(n.input_tokens),
               -sum(n.output_tokens), -coalesce(sum(n.cost_usd), 0), n.project, n.agent_name, n.model, n.provider,
               -sum(n.cache_read_tokens), -sum(n.cache_write_5m_tokens::numeric + n.cache_write_1h_tokens),
               -sum(n.reasoning_tokens), -coalesce(sum(svc.unpriced_tokens(n.cost_usd, n.input_tokens, n.output_tokens)), 0),
               -coalesce(sum(n.cost_fresh), 0), -coalesce(sum(n.cost_cache_read), 0), -coalesce(sum(n.cost_cache_write_5m), 0),
               -coalesce(sum(n.cost_cache_write_1h), 0), -coalesce(sum(n.cost_output), 0), -coalesce(sum(n.cost_reasoning), 0))::svc.stat_days
      from removed n
     group by svc.day_of(n.created_at), n.project, n.agent_name, n.model, n.provider));
  return null;
end $body$;

-- Every turn takes is_head from a node, which changes no total: then nothing is written.
create or replace function svc.days_of_changed() returns trigger language plpgsql as $body$
begin
  perform svc.add_to_stat_days(array(
    select row(c.day, svc.attributes_digest(c.project, c.agent_name, c.model, c.provider), c.turn_count, c.root_count,
               c.tool_calls, c.unpriced_count, c.input_tokens, c.output_tokens, c.cost_usd,
               c.project, c.agent_name, c.model, c.provider,
               c.cache_read_tokens, c.cache_write_tokens, c.reasoning_tokens, c.unpriced_tokens, c.cost_fresh, c.cost_cache_read,
               c.cost_cache_write_5m, c.cost_cache_write_1h, c.cost_output, c.cost_reasoning)::svc.stat_days
      from (select svc.day_of(n.created_at) as day, n.project, n.agent_name, n.model, n.provider,
                   sum(n.times) as turn_count, coalesce(sum(n.times) filter (where n.is_root and n.injected = ''), 0) as root_count,
                   sum(n.times * n.tool_calls) as tool_calls,
                   coalesce(sum(n.times) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)), 0)
                     as unpriced_count,
                   sum(n.times * n.input_tokens::numeric) as input_tokens,
                   sum(n.times * n.output_tokens::numeric) as output_tokens,
                   coalesce(sum(n.times * n.cost_usd), 0) as cost_usd,
                   sum(n.times * n.cache_read_tokens::numeric) as cache_read_tokens,
                   sum(n.times * (n.cache_write_5m_tokens::numeric + n.cache_write_1h_tokens)) as cache_write_tokens,
                   sum(n.times * n.reasoning_tokens::numeric) as reasoning_tokens,
                   coalesce(sum(n.times * svc.unpriced_tokens(n.cost_usd, n.input_tokens, n.output_tokens)), 0) as unpriced_tokens,
                   coalesce(sum(n.times * n.cost_fresh), 0) as cost_fresh,
                   coalesce(sum(n.times * n.cost_cache_read), 0) as cost_cache_read,
                   coalesce(sum(n.times * n.cost_cache_write_5m), 0) as cost_cache_write_5m,
                   coalesce(sum(n.times * n.cost_cache_write_1h), 0) as cost_cache_write_1h,
                   coalesce(sum(n.times * n.cost_output), 0) as cost_output,
                   coalesce(sum(n.times * n.cost_reasoning), 0) as cost_reasoning
              from (select 1 as times, a.* from added a union all select -1, r.* from removed r) n
             group by 1, 2, 3, 4, 5) c
     where (c.turn_count, c.root_count, c.tool_calls, c.unpriced_count, c.input_tokens, c.output_tokens, c.cost_usd,
            c.cache_read_tokens, c.cache_write_tokens, c.reasoning_tokens, c.unpriced_tokens, c.cost_fresh, c.cost_cache_read,
            c.cost_cache_write_5m, c.cost_cache_write_1h, c.cost_output, c.cost_reasoning)
           <> (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)));
  return null;
end $body$;

update svc.stat_cells c set
  cache_read_tokens = s.cache_read_tokens, cache_write_tokens = s.cache_write_tokens,
  reasoning_tokens = s.reasoning_tokens, unpriced_tokens = s.unpriced_tokens
  from (select n.session_id, svc.day_of(n.created_at) as day, n.project, n.agent_name, n.model, n.provider,
               sum(n.cache_read_tokens) as cache_read_tokens,
               sum(n.cache_write_5m_tokens::numeric + n.cache_write_1h_tokens) as cache_write_tokens,
               sum(n.reasoning_tokens) as reasoning_tokens,
               coalesce(sum(svc.unpriced_tokens(n.cost_usd, n.input_tokens, n.output_tokens)), 0) as unpriced_tokens
          from svc.nodes n
         where n.cache_read_tokens > 0 or n.cache_write_5m_tokens > 0 or n.cache_write_1h_tokens > 0 or n.reasoning_tokens > 0
            or svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)
         group by 1, 2, 3, 4, 5, 6) s
 where c.session_id = s.session_id and c.day = s.day
   and c.attributes = svc.attributes_digest(s.project, s.agent_name, s.model, s.provider);

-- A total by day may be spread over rows: one of them takes the tokens of all its cells.
update svc.stat_days d set
  cache_read_tokens = s.cache_read_tokens, cache_write_tokens = s.cache_write_tokens,
  reasoning_tokens = s.reasoning_tokens, unpriced_tokens = s.unpriced_tokens
  from (select c.day, c.attributes, sum(c.cache_read_tokens) as cache_read_tokens, sum(c.cache_write_tokens) as cache_write_tokens,
               sum(c.reasoning_tokens) as reasoning_tokens, sum(c.unpriced_tokens) as unpriced_tokens
          from svc.stat_cells c
         group by c.day, c.attributes) s
 where d.day = s.day and d.attributes = s.attributes
   and d.ctid = (select min(o.ctid) from svc.stat_days o where o.day = s.day and o.attributes = s.attributes);

-- A budget that the spend of a period exceeded: once for each, whichever process was the first to see it. The webhook's delivery is
-- remembered with it, so that a receiver that was away gets it later. (core/engine/budgets)
create table svc.budget_crossings (
  crossing_id   bigint generated always as identity primary key,
  budget        text not null,                -- the setting, such as daily_usd, or projects.atlas.daily_usd
  project       text,                         -- null: of all
  period        text not null check (period in ('day', 'month')),
  period_start  date not null,                -- in UTC
  limit_usd     numeric not null,
  spent_usd     numeric not null,             -- when it was seen
  crossed_at    timestamptz not null default now(),
  delivery      text not null check (delivery in ('none', 'pending', 'delivered', 'failed')), -- none: no webhook was set
  attempts      integer not null default 0,
  try_after     timestamptz not null default now(), -- of a pending delivery; whoever delivers it moves this first
  delivered_at  timestamptz,
  error         text,                         -- of the last attempt, without the address
  unique (budget, period_start)
);
create index budget_crossings_pending on svc.budget_crossings (try_after) where delivery = 'pending';
