-- The newest state of a long session is written with each of its calls: to parse it and to compress it was a tenth of what a commit takes.
-- Of one that has it, `state` holds only what statements read.
alter table svc.derive_states add column compressed bytea; -- all of the state, as JSON under brotli; null: `state` holds all of it
