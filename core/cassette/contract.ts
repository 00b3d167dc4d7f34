/**
 * What is a cassette? All that its author sees: a module shaped like those of edge runtimes, and what it is handed.
 * This file imports nothing, so that `svc cassette new` can put a copy beside a cassette that shares no code with the service.
 */

/**
 * The default export of a cassette's entry. A Hono app's `fetch` fits as it is.
 *
 * `fetch` serves three kinds of paths, under the name that the manifest gives, whatever it is installed as:
 * `/ping` (any 2xx means healthy), `/openapi` (an OpenAPI 3.1 document with the manifest as its root member `x-svc-cassette`),
 * and `/api/<cassette.name>/…`, mounted at `/v1/cassettes/<installed name>/…`.
 */
export type Cassette<Config extends Settings = Settings> = {
  manifest: Manifest;
  fetch(request: Request, env: Env<Config>, context: Context): Response | Promise<Response>;
  /** Background work at the interval of `manifest.schedule`, on one replica at a time. What it throws is logged and shown. */
  scheduled?(event: ScheduledEvent, env: Env<Config>, context: ScheduledContext): void | Promise<void>;
  /** Migrations of the cassette's own schema: each runs once, in this order, as its role. One that has run is never edited. */
  migrations?: readonly Migration[];
};

/** `name` at most 100 of `a-z 0-9 _ -`; `sql` may hold several statements: tables, indexes, sequences, types, and rows of its own. */
export type Migration = { name: string; sql: string };

export type ScheduledEvent = {
  /** When it was due, in milliseconds since 1970. */
  scheduled_at: number;
  /** Aborts when the lease is lost, the cassette is withdrawn or the service stops. */
  signal: AbortSignal;
};

export type Context = {
  /** Work that outlives the response; the service waits some seconds for it before it stops. */
  waitUntil(work: Promise<unknown>): void;
};

export type ScheduledContext = Context & {
  /**
   * Reports how far background work is: call it as often as that changes, the last report counts.
   * @throws {TypeError} one of the counts is no whole number from 0 on
   */
  progress(items: Progress): void;
};

/** Numbers of items done, waiting and given up, shown by `svc status`, the metrics, `/v1/cassettes` and the evidence. */
export type Progress = { done: number; pending: number; failed: number };

/** What a cassette is handed: only what its manifest asks for and the operator granted. */
export type Env<Config extends Settings = Settings> = {
  /** Absent unless the manifest has `bindings.db`, and where the service runs without the database. */
  DB?: Db;
  /** The read API, without network: `CORE.fetch('/v1/sessions?limit=10')`. Absent unless the manifest has `bindings.core`. */
  CORE?: { fetch(input: string | Request, init?: RequestInit): Promise<Response> };
  /** Every setting that the manifest declares and that has a value, checked against its declaration, by its key. */
  CONFIG: Config;
  LOG: Log;
};

export type Settings = Readonly<Record<string, unknown>>;

/** Lines of JSON in the service's log, under the cassette's name. Keep prompts and keys out of them. */
export type Log = Record<
  'debug' | 'info' | 'warn' | 'error',
  (fields: Record<string, unknown>, message: string) => void
>;

/**
 * The database, as the cassette's own role: it reads the granted views, named in full (`svc_v1.sessions`), and owns the schema that
 * stands first in its search path, whose tables need no schema before their names. Nothing else is accessible.
 *
 * One statement a call: SELECT, INSERT, UPDATE or DELETE, with `$1`, `$2` … for parameters. A parameter is sent as text of the
 * type that the statement expects there: write `$1::uuid[]` where that is in doubt. Arrays and objects are sent as JSON; for a
 * PostgreSQL array write the literal `'{a,b}'`, not `arrayOf` of a library.
 *
 * Rows come as PostgreSQL's `to_json` gives them: numbers as numbers (cast to text what must stay exact beyond 2^53), timestamps
 * as ISO 8601 text, `bytea` as `\x…` text, json as it is, anything else as its text.
 */
export type Db = {
  /** @throws {Error} `name` 'DatabaseError', `sqlstate` PostgreSQL's code ('' when refused before the database, or lost), `transient` */
  query<Row = Record<string, unknown>>(
    sql: string,
    parameters?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<{ rows: Row[]; row_count: number }>;
  /** The rows of a SELECT one after the other, for results that do not fit in memory. Stop early by leaving the loop. */
  stream<Row = Record<string, unknown>>(
    sql: string,
    parameters?: readonly unknown[],
    options?: QueryOptions,
  ): AsyncIterable<Row>;
};

export type QueryOptions = {
  /** Settings for this statement only, of the names in `DB_SETTINGS`. */
  settings?: Partial<Record<DbSetting, string | number | boolean>>;
  /** `array`: each row as the list of its values, in the order of the columns (as drizzle's pg-proxy expects them). */
  rows?: 'object' | 'array';
};

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
] as const;
export type DbSetting = (typeof DB_SETTINGS)[number];

/** Given in the module as `manifest`, and as `x-svc-cassette` at the root of its OpenAPI document. Unknown members are refused. */
export type Manifest = {
  kind: 'svc.cassette/v1';
  cassette: {
    /** `^[a-z][a-z0-9-]{0,30}[a-z0-9]$`; not `svc`, `public`, or beginning with `pg-`. */
    name: string;
    version: string;
    display_name?: string;
    description?: string;
    license?: string;
    /** http or https. */
    homepage?: string;
  };
  depends?: {
    /** Which read API: `v1`. */
    core?: string;
    /**
     * Views of `svc_v1` that `DB` reads: `sessions`, `spans`, `span_turns`, `span_links`, `session_changes`. Never `raw_turns`. In
     * `spans`, `plain_text` is what a call of the conversation says, without what a harness wraps around it; null for any other span.
     */
    views?: readonly string[];
    /** Extensions of PostgreSQL: `vector`. */
    extensions?: readonly string[];
  };
  api?: {
    /** Default `/ping`. */
    health?: string;
    /** Default `/openapi`. */
    openapi?: string;
    /** The prefix before the name in its own paths. Default `api`. */
    prefix_path?: string;
  };
  bindings?: {
    /** A role and a schema of its own. */
    db?: boolean;
    /** The read API. */
    core?: boolean;
    /** Connections to other machines. Where the system can deny processes the network, one that does not ask for it has none. */
    network?: boolean;
    /** The caller's credentials, in headers and in the query, and who the caller is (`x-svc-auth-subject`). */
    forward_auth?: boolean;
  };
  /** Names of the tables in its own schema, shown to whoever decides whether to install it. */
  tables?: readonly { name: string }[];
  config?: readonly Setting[];
  schedule?: {
    /** Seconds between the beginnings of two runs: at least 1. */
    every_seconds: number;
    /** Also run soon after a session has changed: after a second, or as long as four of its runs take. */
    on_change?: boolean;
  };
};

/**
 * `key` is dotted snake case. A secret is shown to nobody and has no default. A duration is written as `30s` (ms, s, m, h, d) and
 * handed over in milliseconds. In the environment a setting is `SVC_CASSETTE_<INSTALLED NAME>_<KEY>`, which outranks the list.
 */
export type Setting = {
  key: string;
  type: 'string' | 'int' | 'bool' | 'duration' | 'json';
  required?: boolean;
  default?: unknown;
  secret?: boolean;
  description?: string;
  /** Allowed values of a string. */
  enum?: readonly string[];
  /** Bounds of an int. */
  min?: number;
  max?: number;
};
