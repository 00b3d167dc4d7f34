-- What the outline of a session needs of its spans and traces, so that it reads no payload, and which of them changed since a revision.
alter table svc.spans
  add column rev               bigint not null default 1,   -- of the session, when the row was last written
  add column label             text not null default '',    -- what matters of it in at most 120 characters
  add column input_lines       integer not null default 0,
  add column input_characters  integer not null default 0,
  add column output_lines      integer not null default 0,
  add column output_characters integer not null default 0,
  add column images            integer not null default 0;
create index spans_rev on svc.spans (session_id, rev);

alter table svc.traces
  add column rev         bigint not null default 1,
  add column error_count integer not null default 0;        -- calls and tools that failed
create index traces_rev on svc.traces (session_id, rev);

alter table svc.session_rollups
  add column error_count integer not null default 0,        -- the same, without those that count in another session
  add column shape       jsonb not null default '[]';       -- input tokens of the calls of the conversation, in at most 32 numbers

-- The revision of a session's projection: it grows with each commit that changes rows. Rows stay when the projection is deleted, so that
-- no revision is used twice. No row: revision 1, and nothing was deleted.
create table svc.session_revisions (
  session_id uuid primary key,
  rev        bigint not null,
  floor      bigint not null                                -- rows were deleted in this revision: what readers have from before it is void
);
