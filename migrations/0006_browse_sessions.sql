-- Finding sessions: an index for each order and filter of GET /v1/browse/sessions, and one for the words.

-- Orders by what intake knows. Each append writes a new version of the row anyway, since last_seen_at is in an index.
create index sessions_started_at on svc.sessions (started_at, session_id);
create index sessions_duration on svc.sessions ((last_seen_at - started_at), session_id);

-- Orders by what derivation adds. In a table of its own, with a row for every session: one that has no rollup yet has its place
-- as well; a fold locks no row that intake waits for; and the wide rollup can change without touching an index.
create table svc.session_totals (
  session_id   uuid primary key references svc.sessions on delete cascade,
  turn_count   integer not null,
  total_tokens numeric not null,  -- bigints that a client made up may overflow one together
  total_cost   numeric            -- null: none of its calls has a price
);
create index session_totals_turn_count on svc.session_totals (turn_count, session_id);
create index session_totals_tokens on svc.session_totals (total_tokens, session_id);
-- An unknown cost comes last in both directions.
create index session_totals_cost_asc on svc.session_totals (coalesce(total_cost, 'Infinity'::numeric), session_id);
create index session_totals_cost_desc on svc.session_totals (coalesce(total_cost, '-Infinity'::numeric), session_id);

create view svc.current_totals as
select s.session_id, coalesce(r.trace_count, 0) as turn_count,
       coalesce(r.input_tokens, 0)::numeric + coalesce(r.output_tokens, 0) as total_tokens,
       case when jsonb_path_exists(r.model_usage, '$[*].cost_usd ? (@ != null)') then r.cost_usd end as total_cost
  from svc.sessions s
  left join svc.session_rollups r on r.session_id = s.session_id;

create function svc.keep_totals() returns trigger language plpgsql as $$
begin
  insert into svc.session_totals as t (session_id, turn_count, total_tokens, total_cost)
  select c.session_id, c.turn_count, c.total_tokens, c.total_cost
    from svc.current_totals c
   where c.session_id = case when tg_op = 'DELETE' then old.session_id else new.session_id end
  on conflict (session_id) do update
     set turn_count = excluded.turn_count, total_tokens = excluded.total_tokens, total_cost = excluded.total_cost
   where (t.turn_count, t.total_tokens, t.total_cost)
         is distinct from (excluded.turn_count, excluded.total_tokens, excluded.total_cost);
  return null;
end $$;
create trigger sessions_totals after insert on svc.sessions
  for each row execute function svc.keep_totals();
create trigger session_rollups_totals after insert or update or delete on svc.session_rollups
  for each row execute function svc.keep_totals();

create function svc.clear_totals() returns trigger language plpgsql as $$
begin
  update svc.session_totals set turn_count = 0, total_tokens = 0, total_cost = null;
  return null;
end $$;
create trigger session_rollups_no_totals after truncate on svc.session_rollups
  for each statement execute function svc.clear_totals();

insert into svc.session_totals (session_id, turn_count, total_tokens, total_cost)
select c.session_id, c.turn_count, c.total_tokens, c.total_cost from svc.current_totals c;

-- Filters. None of these columns changes with every turn.
create index session_rollups_project on svc.session_rollups (project);
create index session_rollups_agent_name on svc.session_rollups (agent_name);
create index spans_model on svc.spans (model, session_id) where kind = 'llm';
create index spans_provider on svc.spans (provider, session_id) where kind = 'llm';

-- The words of a text, in lower case: runs of letters and digits, of each its first 100 characters, in the first 20,000 of the text.
-- As the configuration `simple` has them, but for its parser, which keeps a path as one word and cuts a hash such as 3e45fab.
create function svc.words(given text) returns tsvector language sql immutable strict parallel safe as $$
  select array_to_tsvector(array(
    select left(w.word, 100)
      from unnest(regexp_split_to_array(lower(left(given, 20000) collate pg_catalog.pg_c_utf8), '[^[:alnum:]]+')) as w (word)
     where w.word <> ''))
$$;
-- New words wait in a list that every search reads whole: it is kept short.
create index session_rollups_words on svc.session_rollups
  using gin (svc.words(coalesce(name, '') || ' ' || coalesce(title, '') || ' ' || coalesce(preview, '')))
  with (gin_pending_list_limit = 512);
create index session_edits_words on svc.session_edits
  using gin (svc.words(coalesce(display_name, ''))) with (gin_pending_list_limit = 512);
create index traces_words on svc.traces
  using gin (svc.words(user_prompt || ' ' || response_preview)) with (gin_pending_list_limit = 512);
