-- What a purge leaves: one tombstone for each raw turn, with its place in its session's chain, so that the chain can still be checked
-- across the gap. `session_id` is the session whose chain the turn stood in, `purged_session_id` the one that was purged.
alter table svc.tombstones add column session_seq integer;
alter table svc.tombstones add column prev_hash bytea;
alter table svc.tombstones add column purged_session_id uuid;
create unique index tombstones_turn on svc.tombstones (raw_turn_id);
create index tombstones_session on svc.tombstones (session_id, session_seq);
create index tombstones_purged_session on svc.tombstones (purged_session_id);

-- How many purges have deleted slices. Whoever remembers which slices are stored remembers under this count.
alter table svc.installation add column purges bigint not null default 0;
