-- Retention removes whole sessions by age or size, and garbage collection removes slices that nothing refers to. Both leave a record.

-- Turns of a session that were purged, those that corrections had brought here among them. So turn_count + moved_turns - purged_turns is
-- what is left, without a look at the turns. (A tombstone names the session that was purged.)
alter table svc.sessions add column purged_turns integer not null default 0;
update svc.sessions s set purged_turns = t.turns
  from (select purged_session_id, count(*) as turns from svc.tombstones where purged_session_id is not null group by 1) t
 where s.session_id = t.purged_session_id;
-- A session that retention removed is shown nowhere until a turn brings it back, as one whose turns were moved away.
alter table svc.sessions alter column is_empty set expression as (emptied and turn_count + moved_turns = purged_turns);
create index sessions_with_turns on svc.sessions (last_seen_at, session_id) where turn_count + moved_turns > purged_turns;

-- Sessions that retention is removing, a batch of rows at a time; an interrupted removal is completed by the next sweep.
create table svc.session_removals (
  session_id uuid primary key,
  up_to      bigint not null,              -- the session's highest raw_turn_id when it was chosen: later turns stay
  was_hidden boolean not null,             -- a person had deleted it before
  reason     text not null,                -- for the tombstones
  began_at   timestamptz not null default now()
);

-- What was removed by itself or by `svc gc`: the latest rows are part of the status.
create table svc.removals (
  removal_id   bigint generated always as identity primary key,
  kind         text not null check (kind in ('retention', 'gc')),
  began_at     timestamptz not null,
  ended_at     timestamptz not null default now(),
  sessions     bigint not null default 0,
  raw_turns    bigint not null default 0,
  parked_turns bigint not null default 0,
  slices       bigint not null default 0,
  slice_bytes  bigint not null default 0,   -- of these slices, compressed
  freed_bytes  bigint not null default 0    -- that the database takes less on disk
);
create index removals_kind on svc.removals (kind, removal_id desc);

-- Work that one process does at a time, by the database's clock.
create table svc.work_leases (
  work         text primary key,
  token        uuid not null,
  leased_until timestamptz not null
);

-- How much of the database's files is estimated to be free for new rows. (core/db/retention/stored-size.ts)
create table svc.stored_size (
  singleton    boolean primary key default true check (singleton),
  bytes        bigint not null,             -- of the database at the last measurement
  turns_stored bigint not null,             -- ever, at that time
  turns_purged bigint not null,
  free_bytes   double precision not null
);

-- True while unreferenced slices are being looked for. Whoever gives old turns new nodes meanwhile records their sessions, whose nodes are
-- then looked at again. (core/db/gc/rewritten-sessions.ts)
alter table svc.installation
  add column collecting boolean not null default false,
  add column slices_due boolean not null default false; -- turns were removed, and their slices were not looked for yet
create table svc.rewritten_sessions (session_id uuid primary key);
