-- What a failed call was told: the provider's own sentence.
alter table svc.spans add column error_message text not null default '';

-- Of an agent: what it was sent out for, and what its own calls add up to. Not in the columns of usage, so that a sum over all spans
-- counts each token once.
alter table svc.spans add column description text not null default '';
alter table svc.spans add column totals jsonb;

-- A session whose last answer its reader broke off.
alter table svc.session_rollups drop constraint session_rollups_status_check;
alter table svc.session_rollups add constraint session_rollups_status_check
  check (status in ('completed', 'failed', 'abandoned', 'interrupted', 'unknown'));
