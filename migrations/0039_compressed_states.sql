-- The newest state of a long session is written with each of its calls: to parse it and to compress it was a tenth of what a commit takes.
alter table svc.derive_states add column compressed bytea; -- all of the state, as JSON under brotli; null: `state` holds all of it
alter table svc.derive_states alter column compressed set storage external; -- PostgreSQL does not try to compress it again
comment on column svc.derive_states.state is 'Where compressed is not null, only what statements read of it';
