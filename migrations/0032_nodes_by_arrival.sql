-- Of a message that very many sessions have, such as an example in a prompt, those that came last are found without reading the others.
create index nodes_by_arrival on svc.nodes (node_hash, raw_turn_id desc);
