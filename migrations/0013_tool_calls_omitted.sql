-- Of a call's span: how many of its steps have no span of their own, since one answer or request may hold any number of them.
alter table svc.spans add column tool_calls_omitted integer not null default 0; -- past the answer's first 2000
alter table svc.spans add column events_omitted integer not null default 0; -- put in with the call, the same
