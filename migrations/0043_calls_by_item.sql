-- The items of answers that the provider holds: a later request may refer to them instead of repeating them, and then continues that call.
-- (core/call/references.ts) Calls stored before have none, until their sessions are read again.
alter table svc.calls add column item_ids text[] not null default '{}';
alter table svc.calls add column item_reference text not null default ''; -- where the answer with that item is not known; ''

-- A bounded list of what is not in the index yet: each look-up scans it.
create index calls_item_ids on svc.calls using gin (item_ids) with (gin_pending_list_limit = 512) where item_ids <> '{}';
create index calls_item_reference on svc.calls (item_reference) where item_reference <> '';
