/**
 * What is a cassette? All that its author sees: a module shaped like those of edge runtimes, and what it is handed.
 * This file imports nothing, so that `svc cassette new` can put a copy beside a cassette that shares no code with the service.
 */
export const DB_SETTINGS = [
    'hnsw.ef_search',
    'hnsw.iterative_scan',
    'hnsw.max_scan_tuples',
    'ivfflat.probes',
    'enable_seqscan',
    'enable_indexscan',
    'work_mem',
    'maintenance_work_mem',
    'jit',
];
