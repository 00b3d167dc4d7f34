-- Answers that a request showed before the call came that gave them: a call that comes late finds its session by them.
create index nodes_brought_along on svc.nodes (node_hash) where slice_id is not null and role = 'assistant' and injected = '';
