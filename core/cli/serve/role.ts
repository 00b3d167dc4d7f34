/** What `svc serve` runs: everything, or the capture proxy or the ingest API alone beside another process. */
export type ServeRole = 'all' | 'proxy' | 'ingest';
