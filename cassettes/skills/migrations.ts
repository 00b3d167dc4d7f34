/** The tables of skills: a row for each skill with its editable head, and a row for each version that was published. */
import type { Migration } from '../../core/cassette/contract.ts';

export const migrations: readonly Migration[] = [
  {
    name: '0001_create_skills',
    sql: `
create table skills (
  id                         uuid primary key default gen_random_uuid(),
  parent_id                  uuid references skills (id) on delete set null,
  name                       text not null,
  description                text not null,
  type                       text not null check (type in ('workflow', 'domain-knowledge', 'prompt-template')),
  visibility                 text not null default 'private' check (visibility in ('private', 'team')),
  tags                       text[] not null default '{}',
  content                    text not null,
  claims                     jsonb not null default '[]', -- [{text, spans: [{sessionId, traceId, spanId}]}]
  version_number             int not null default 0,      -- of the version that was published last
  is_ai_generated            boolean not null default false,
  generated_from_session_ids text[] not null default '{}',
  author_subject             text,                        -- null: unattributed
  download_count             bigint not null default 0,
  created_at                 timestamptz not null default now(),
  updated_at                 timestamptz not null default now()
);
create index skills_updated on skills (updated_at desc, id desc);
create index skills_downloads on skills (download_count desc, id desc);
create index skills_sessions on skills using gin (generated_from_session_ids);
create index skills_parent on skills (parent_id);

create table skill_versions (
  skill_id        uuid not null references skills (id) on delete cascade,
  version_number  int not null,
  name            text not null,
  description     text not null,
  type            text not null,
  tags            text[] not null,
  content         text not null,
  claims          jsonb not null,
  changelog       text not null,
  author_subject  text,
  idempotency_key text,
  fingerprint     text not null, -- of what was asked, so that a key is known for what it was sent with
  published_at    timestamptz not null default now(),
  primary key (skill_id, version_number),
  unique (skill_id, idempotency_key)
);`,
  },
  {
    // A purge of a session deletes the skills generated from it that were not edited. Whether existing ones were edited is estimated.
    name: '0002_edited_skills',
    sql: `
alter table skills add column edited boolean not null default false;
update skills set edited = not is_ai_generated or parent_id is not null or updated_at > created_at;`,
  },
];
