/** The status of the service, for its operator: the database behind it, how much is stored, what waits, what was given up. */
import { z } from '@hono/zod-openapi';
import { BudgetState } from './budget.ts';
import { Outcome } from './coverage.ts';
import { At } from './page.ts';
import { PublisherState } from './publisher-state.ts';

/** Extensions that are used where a database has them. Only search needs one: `vector`. */
const Extension = z.enum(['citus', 'citus_columnar', 'pg_duckdb', 'timescaledb', 'vector']);

const Outcomes = z.object(
  Object.fromEntries(Outcome.options.map((outcome) => [outcome, z.int()])) as Record<Outcome, z.ZodInt>,
);

const NONE = Object.fromEntries(Outcome.options.map((outcome) => [outcome, 0])) as Record<Outcome, number>;

export const statusExample = {
  version: '0.1.0',
  uptime_seconds: 11_520.25,
  database: {
    kind: 'server',
    server_version: '17.11',
    bytes: 475_559_603,
    extensions: [{ name: 'vector', version: '0.8.0', installed: true }],
  },
  counts: {
    sessions: 412,
    raw_turns: 9_803,
    nodes: 20_118,
    traces: 1_377,
    spans: 31_046,
    slices: 58_213,
    slice_bytes: 66_273_280,
  },
  estimated: ['spans'],
  derive: { queued: 1, parked: 1, lag_seconds: 0.21, derive_version: 1 },
  find: { spans: 31_046, spans_indexed: 31_040 },
  parked_sessions: [
    {
      session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
      harness_id: 'claude',
      harness_session_id: '0b0e7d0c-52a7-4a35-a3a5-1c2d3e4f5a6b',
      error: 'RangeError',
      attempts: 8,
      parked_at: '2026-07-27T09:58:12.004100Z',
    },
  ],
  parked_turns: {
    count: 1,
    newest: [
      {
        svc_proxy_request_id: '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11',
        reason: 'DatabaseError 22P05',
        parked_at: '2026-07-27T09:41:00.120000Z',
        bytes: 18_204,
      },
    ],
  },
  disk: {
    bytes: 476_764_114,
    growth_bytes_per_day: 12_582_912,
    free_bytes: 210_453_397_504,
    days_left: 16_725.3,
    by_day: [
      { day: '2026-07-27', bytes: 470_316_723 },
      { day: '2026-07-26', bytes: 457_733_811 },
    ],
  },
  retention: {
    days: 90,
    projects: ['ferrybook=365'],
    dry_run: false,
    next: { sessions: 3, raw_turns: 41, more: false, excess_bytes: 0 },
    free_bytes: 6_203_112,
    last: {
      ...{
        began_at: '2026-07-27T09:40:00.000000Z',
        ended_at: '2026-07-27T09:40:03.120000Z',
        sessions: 12,
        raw_turns: 204,
      },
      ...{ parked_turns: 0, slices: 1_931, slice_bytes: 811_204, freed_bytes: 0 },
    },
  },
  journal: { bytes: 1_204_511, oldest_seconds: 0.04 },
  publisher: { queued: 0, published: 20_118, failed: 0, dropped: 0, reason: null },
  coverage: { requests: 9_900, outcomes: { ...NONE, captured: 9_790, partial: 13, not_a_turn: 96, poison: 1 } },
  last_turn_at: '2026-07-27T09:59:57.310221Z',
  service: {
    pid: 4711,
    processes: [
      { name: 'proxy', state: 'up', pid: 4712, since: '2026-07-27T06:48:00Z', restarts: 0 },
      {
        name: 'service',
        state: 'up',
        pid: 4890,
        since: '2026-07-27T09:12:31Z',
        restarts: 1,
        last_end: { at: '2026-07-27T09:12:30Z', reason: 'ended by SIGKILL' },
      },
    ],
    folder: '/home/ada/.svc',
    data: '/home/ada/.svc/data',
    cassette_lists: ['/home/ada/cassette.manifest.json', '/home/ada/.svc/cassette.manifest.json'],
    listeners: {
      proxy: ['http://127.0.0.1:8080'],
      api: ['http://127.0.0.1:8081'],
      ingest: ['http://127.0.0.1:8082'],
    },
    settings: [{ key: 'proxy.provider', value: 'anthropic', from: '/home/ada/.svc/config.toml' }],
  },
};

export const ParkedSession = z.object({
  session_id: z.uuid(),
  harness_id: z.string(),
  harness_session_id: z.string(),
  error: z.string().describe('the class of the last failure; the log has the place'),
  attempts: z.int(),
  parked_at: At,
});
export type ParkedSession = z.infer<typeof ParkedSession>;

export const ParkedTurn = z.object({
  svc_proxy_request_id: z.string(),
  reason: z.string(),
  parked_at: At,
  bytes: z.int().describe('of request and response, both stored in svc.parked_turns'),
});
export type ParkedTurn = z.infer<typeof ParkedTurn>;

/** A process of the service; a proxy goes on while the service behind it is started again. */
const ProcessState = z.object({
  name: z.enum(['proxy', 'service']),
  state: z.enum(['starting', 'up', 'down']).describe('down: it has ended too often, and is tried again each minute'),
  pid: z.int().optional().describe('absent while there is none'),
  since: At.describe('since when it is in that state'),
  restarts: z.int().describe('since the service was started'),
  last_end: z.object({ at: At, reason: z.string() }).optional().describe('absent while it has never ended by itself'),
});
export type ProcessState = z.infer<typeof ProcessState>;

const Addresses = z.array(z.string());

/** What a command that runs beside the service has to know. */
const Service = z
  .object({
    pid: z.int().describe('of its parent, which stops all of it'),
    processes: z.array(ProcessState).describe('those that its parent keeps running; none where it is one process'),
    folder: z.string().describe('the `.svc` that it uses'),
    data: z.string().describe('where the turns lie, without credentials'),
    cassette_lists: z
      .array(z.string())
      .describe('where its list of cassettes is looked for: the first that is there counts'),
    listeners: z.object({ proxy: Addresses, api: Addresses, ingest: Addresses }),
    settings: z
      .array(z.object({ key: z.string(), value: z.unknown(), from: z.string() }))
      .describe('those that are not at their defaults, secrets as [redacted]'),
  })
  .describe('the service that answers');
export type Service = z.infer<typeof Service>;

const Removal = z.object({
  began_at: At,
  ended_at: At,
  sessions: z.int(),
  raw_turns: z.int(),
  parked_turns: z.int().describe('set aside unread'),
  slices: z.int().describe('that nothing referred to any more'),
  slice_bytes: z.int().describe('what these took, compressed'),
  freed_bytes: z.int().describe('what the database took less on disk'),
});

export const Status = z
  .object({
    version: z.string().describe('of the service that answers'),
    uptime_seconds: z.number(),
    database: z.object({
      kind: z.enum(['embedded', 'server']),
      server_version: z.string(),
      bytes: z.int().describe('on disk'),
      extensions: z
        .array(z.object({ name: Extension, version: z.string(), installed: z.boolean() }))
        .describe('those of interest that the database has; not installed: it could be'),
      partitions: z
        .array(
          z.object({
            bytes: z.int().describe('on disk'),
            began_at: At.optional().describe('absent: it has what was stored before the tables were partitioned'),
            ended_at: At.optional().describe('absent: it is stored in now'),
            leaving: z.string().optional().describe('the setting of retention by which it is being dropped'),
          }),
        )
        .optional()
        .describe('of the large tables, the oldest first; absent where they are not partitioned'),
    }),
    counts: z.object({
      sessions: z.int(),
      raw_turns: z.int(),
      nodes: z.int(),
      traces: z.int(),
      spans: z.int(),
      slices: z.int().describe('distinct pieces of bodies'),
      slice_bytes: z.int().describe('what the slices take on disk, compressed, with their index'),
    }),
    estimated: z
      .array(z.enum(['nodes', 'traces', 'spans', 'slices']))
      .describe(
        "which of the counts are the database's estimate, since their table is too large to be counted each time",
      ),
    derive: z.object({
      queued: z.int().describe('sessions whose projection is behind their turns, parked ones apart'),
      parked: z.int().describe('sessions that failed too often to be tried again by themselves'),
      lag_seconds: z.number().describe('how long the longest of the queued has waited'),
      derive_version: z.int().describe('of the rules in effect'),
    }),
    find: z
      .object({ spans: z.int(), spans_indexed: z.int().describe('of which so many can be found by their texts') })
      .describe('the index of texts'),
    parked_sessions: z.array(ParkedSession).describe('at most 20, the newest first'),
    parked_turns: z.object({
      count: z.int(),
      newest: z.array(ParkedTurn).describe('at most 20, the newest first'),
    }),
    disk: z.object({
      bytes: z.int().describe('what database and journal take, with the write-ahead log of an embedded one'),
      growth_bytes_per_day: z
        .int()
        .optional()
        .describe('of the database, over the last seven days at most; absent until it was measured for a day'),
      free_bytes: z.int().optional().describe('left on the disk of the database; absent where a server has it'),
      days_left: z.number().optional().describe('until that is full, at this growth; absent while nothing grows'),
      by_day: z
        .array(z.object({ day: z.iso.date(), bytes: z.int() }))
        .describe("the database's size at the beginning of each of thirty days, UTC, the newest first"),
    }),
    retention: z
      .object({
        days: z.int().optional(),
        max_bytes: z.int().optional(),
        projects: z.array(z.string()).describe('project=days or project=forever'),
        dry_run: z.boolean().describe('true: nothing is removed'),
        next: z
          .object({
            sessions: z.int(),
            raw_turns: z.int(),
            more: z.boolean().describe('there are more than these 1,000 sessions'),
            excess_bytes: z.int().describe('over retention.max_bytes, for which the oldest sessions go as well'),
          })
          .describe('what the next sweep removes for its age, and whether more goes for the size'),
        free_bytes: z.int().describe('of the database on disk, left by what was removed: an estimate'),
        last: Removal.optional().describe('absent while nothing was ever removed'),
      })
      .optional()
      .describe('absent where nothing is removed by itself'),
    budgets: z.array(BudgetState).optional().describe('each in its current period; absent where none is set'),
    last_gc: Removal.optional().describe("the last 'svc gc'; absent before the first"),
    journal: z
      .object({
        bytes: z.int().describe('on disk'),
        oldest_seconds: z
          .number()
          .describe('how long the oldest call has waited that ended and is not in the database; 0: none waits'),
      })
      .optional()
      .describe('absent where the process keeps none'),
    publisher: PublisherState.optional().describe('nodes for the broker; absent where nothing is published'),
    coverage: z.object({ requests: z.int(), outcomes: Outcomes }).describe('as in /v1/coverage, of all time'),
    last_turn_at: At.optional().describe('absent before the first'),
    service: Service.optional(),
  })
  .openapi('Status', {
    examples: [statusExample],
  });
export type Status = z.infer<typeof Status>;
