-- A reader is sent a request as text where it is UTF-8, else in base64: it begins to come before all of it is read only where that is known.
alter table svc.raw_turns add column request_is_utf8 boolean; -- of the stored bytes, as they passed; null: it was stored before this was noted
