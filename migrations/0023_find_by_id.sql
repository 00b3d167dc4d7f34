-- Sessions by those that started them, and those with a star.
create index session_rollups_parent on svc.session_rollups (parent_session_id) where parent_session_id is not null;
create index session_edits_starred on svc.session_edits (session_id) where starred_at is not null;

-- Any id leads to its place. The provider's ids of answers and tool calls are whatever a provider sent, of any length and as often as it
-- likes: their hashes take eight bytes each, and equal ones share an entry.
create index spans_span_id on svc.spans (span_id);
create index spans_external_id on svc.spans (hashtextextended(external_id, 0)) where external_id <> '';

-- How large the database was, about once an hour, so that its growth is known. (core/db/record-size.ts)
create table svc.database_sizes (
  measured_at timestamptz primary key default now(),
  bytes       bigint not null
);
