/** What `svc serve` runs: everything, or one part of it, of which any number run beside others on the same PostgreSQL. */
export const SERVE_ROLES = ['all', 'proxy', 'api', 'ingest', 'derive'] as const;
export type ServeRole = (typeof SERVE_ROLES)[number];

/** The roles that are a process by themselves, without a parent that starts them again. */
export const LONE_ROLES = ['api', 'ingest', 'derive'] as const satisfies readonly ServeRole[];
export type LoneRole = (typeof LONE_ROLES)[number];
