-- What other people's cassettes need of the database: where the functions that run their statements lie, where `vector` goes when
-- we make it, which of their migrations have run, and who does their background work. Their roles and schemas are made when
-- they are let in. (core/db/cassette/provision.ts)
create schema svc_cassettes;
create schema svc_extensions;

create table svc.cassette_migrations (
  cassette   text not null,          -- installed name
  name       text not null,
  position   integer not null,       -- 1, 2, 3 … in the order in which they ran
  sha256     bytea not null,
  applied_at timestamptz not null default now(),
  primary key (cassette, name),
  unique (cassette, position)
);

-- One row while somebody has it, and until somebody else takes it.
create table svc.cassette_leases (
  cassette     text primary key,
  token        text not null,
  leased_until timestamptz not null
);

-- A database may have been set up to grant more than PostgreSQL does.
revoke all on schema svc, svc_v1, svc_meta, svc_cassettes, svc_extensions from public;
