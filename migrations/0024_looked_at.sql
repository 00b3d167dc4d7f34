-- When somebody last read a session that is behind: it is derived before the others. (core/db/derive/derive-queue.ts)
alter table svc.derive_queue add column looked_at timestamptz;
create index derive_queue_looked on svc.derive_queue (looked_at) where looked_at is not null;
