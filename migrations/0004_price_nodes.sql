-- What an answer cost, so that sums over nodes need no price list; the provider's own id of an answer, by which a later request
-- may name what it goes on from; and why a request could not be read. Sessions that were stored before are read again.
alter table svc.nodes add column cost_usd numeric; -- null: not an answer, or without a price
alter table svc.calls add column response_id text not null default '';
alter table svc.calls add column previous_response_id text not null default '';
alter table svc.calls add column conversation_id text not null default '';
alter table svc.calls add column unreadable text not null default '';
create index calls_conversation on svc.calls (conversation_id, raw_turn_id) where conversation_id <> '';
create index calls_previous_response on svc.calls (previous_response_id) where previous_response_id <> '';
create index calls_response on svc.calls (response_id) where response_id <> '';
