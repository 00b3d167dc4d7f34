-- Transcripts in the projection, and what calls are for.
alter table svc.calls
  add column kind   text not null default 'main',   -- core/model/call-kind.ts
  add column judged text not null default '';       -- the action that a permission check judges

-- Where a session is to be folded again from although no call of that time is new: evidence about its threads has changed.
alter table svc.derive_queue add column replay_from timestamptz;

-- What a session's transcripts say, as last read: derivation looks here and not into the files, unless there are newer ones.
create table svc.transcript_readings (
  session_id   uuid primary key,
  read_up_to   bigint not null,      -- the highest raw_turn_id of a transcript that was looked at
  read_version integer not null,     -- of the rules: derive/version.ts
  projected    boolean not null,     -- whether its calls stand in the projection: no main call came over the wire
  evidence     jsonb not null,       -- core/derive/evidence.ts
  report       jsonb not null        -- model/derive-report.ts, `transcript_projection` and `reconcile`
);

-- The calls of transcripts that stand in the projection, so that a new reading is folded from where it differs.
create table svc.transcript_calls (
  session_id   uuid not null,
  requested_at timestamptz not null,
  call_id      text not null,
  raw_turn_id  bigint not null,      -- of the transcript
  digest       bytea not null,       -- of what the fold was given
  primary key (session_id, call_id)
);
create index raw_turns_transcripts on svc.raw_turns (session_id, raw_turn_id) where source = 'transcript';
