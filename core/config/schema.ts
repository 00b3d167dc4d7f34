/** The configuration's schema: every key with its type, default and meaning. Flags, environment, file and README.md beside it follow from it. */
import { isIP } from 'node:net';
import * as z from 'zod/mini'; // a tenth of zod to load, for commands that end within a tenth of a second
import { LEAST_BUDGET_USD, projectBudget, projectBudgetTexts } from '../model/budget-settings.ts';
import { projectRule } from '../model/retention.ts';
import { forEachProvider, ProviderId, UPSTREAMS } from '../provider/provider-ids.ts';
import { dsnProblem } from './dsn.ts';
import { headerListProblem } from './header-list.ts';
import { listenProblem } from './listen.ts';

/** A string that `problem` accepts (null). Its message completes a sentence that begins with the key: `must be …`. */
const text = (problem: (value: string) => string | null) =>
  z.string().check(({ value, issues }) => {
    const message = problem(value);
    if (message) issues.push({ code: 'custom', message, input: value });
  });

/** The address of another service, with nothing after the path. */
const addressProblem = (value: string): string | null =>
  requestedProblem(value) ?? (value.includes('?') ? "must be an address without '?'" : null);

/** The address of what is requested, perhaps with a query; without credentials (they would be shown). */
function requestedProblem(value: string): string | null {
  const url = /^https?:\/\//i.test(value) && URL.canParse(value) ? new URL(value) : null;
  if (!url) return "must be an address, such as 'http://localhost:11434'";
  if (url.username || url.password) return 'must be an address without a name or password';
  return value.includes('#') ? "must be an address without '#'" : null;
}

const hostProblem = (value: string): string | null =>
  isIP(value) > 0 || /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i.test(value)
    ? null
    : 'must be a list of host names, without scheme, path or wildcard';

/** The first segments of the read API's own paths: below one of them it could not tell whether a prefix was passed on. */
const OWN_SEGMENTS = [
  ...['v1', 'ui', 'ping', 'metrics', 'openapi', 'swagger'],
  ...['sessions', 'spans', 'spend', 'find', 'compare', 'skills', 'cassettes', 'health', 'help'],
];

function basePathProblem(value: string): string | null {
  if (value === '') return null;
  if (!/^(\/(?!\.)[A-Za-z0-9._~-]+)+$/.test(value))
    return "must be empty or a path such as '/svc', without a slash at its end";
  const first = value.split('/')[1] ?? '';
  return OWN_SEGMENTS.includes(first)
    ? `must not begin with '/${first}', where the read API has paths of its own`
    : null;
}

const address = () => text(addressProblem);
const webhook = () => text((value) => (value === '' ? null : requestedProblem(value)));
const addressOrEmpty = () => text((value) => (value === '' ? null : addressProblem(value)));

/** The client of the brokers takes their addresses apart at the first colon. */
function brokerProblem(value: string): string | null {
  if (!/^[^\s/@]+:\d{1,5}$/.test(value)) return "must be a list of 'host:port'";
  return value.indexOf(':') < value.lastIndexOf(':') ? 'must have names instead of IPv6 addresses' : null;
}

const tokenProblem = (value: string): string | null =>
  /^[\x21-\x7e]*$/.test(value) ? null : 'must be printable ASCII without spaces';

const dsn = () => text(dsnProblem);

type TablesAsList = (tables: Record<string, unknown>) => string[];

/**
 * What is known of a key beside its type: what it means, whether its value must never be shown, and of a list whose entries are named
 * settings how the same reads as tables of the file.
 */
export const about = z.registry<{
  description: string;
  secret?: boolean;
  example?: number | boolean;
  tablesAsList?: TablesAsList;
}>();

/** A key with its default, and what it means. */
function key<T extends z.ZodMiniType>(type: T, fallback: z.output<T>, description: string, secret = false) {
  const schema: z.ZodMiniDefault<T> = z._default(type, fallback as never);
  about.add(schema, { description, secret });
  return schema;
}

const secretKey = <T extends z.ZodMiniType>(type: T, fallback: z.output<T>, description: string) =>
  key(type, fallback, description, true);

/** A list that may be tables in the file as well. */
function keyOfTables<T extends z.ZodMiniType>(type: T, tablesAsList: TablesAsList, description: string) {
  const schema: z.ZodMiniDefault<T> = z._default(type, [] as never);
  about.add(schema, { description, tablesAsList });
  return schema;
}

/** A key that has no value unless it is set. @param example a value that does no harm where somebody takes it over */
function unsetKey<T extends z.ZodMiniType>(type: T, example: number | boolean, description: string) {
  const schema: z.ZodMiniOptional<T> = z.optional(type);
  about.add(schema, { description, example });
  return schema;
}

const dollars = () => z.number().check(z.minimum(LEAST_BUDGET_USD), z.maximum(1_000_000_000));

const section = <T extends z.core.$ZodShape>(keys: T) => z.prefault(z.strictObject(keys), {} as never);

const listen = (fallback: string, what: string) =>
  key(text(listenProblem), fallback, `${what}; without a host: loopback only`);

/**
 * `.svc/config.toml`, overridden by environment and flags. An unknown key is a typo, so it is refused.
 * Strict at every level; each leaf is a string, boolean, integer, choice, or list of strings.
 */
export const Config = z.strictObject({
  version: key(z.literal(0), 0, 'of the form that the file has'),
  storage: section({
    postgres_dsn: secretKey(dsn(), '', 'PostgreSQL 17 or later; empty: the embedded database in .svc/data'),
    pooled: key(z.boolean(), false, 'the DSN leads to a transaction pooler: no prepared statements, no LISTEN'),
    distributed: key(
      z.enum(['', 'citus']),
      '',
      'citus: the large tables are distributed over the workers of the cluster; empty: they stay as they are',
    ),
    partitioned: key(
      z.enum(['', 'day', 'week', 'month']),
      '',
      'the large tables have a partition for each, which retention drops as a whole; empty: it deletes their rows',
    ),
  }),
  publisher: section({
    stream: section({
      brokers: key(z.array(text(brokerProblem)), [], 'host:port of Kafka brokers; empty: nothing is published'),
      topic: key(z.string(), '', 'for node events'),
      client_id: key(z.string(), 'svc', 'the name shown to the brokers'),
    }),
  }),
  proxy: section({
    provider: key(ProviderId, 'ollama', 'format of the bare paths'),
    upstream: key(
      addressOrEmpty(),
      '',
      'where the bare paths go; empty: the address of proxy.upstreams for the provider',
    ),
    upstreams: section(forEachProvider((id) => key(address(), UPSTREAMS[id], `where /${id}/… goes`))),
    listen: listen(':8080', 'capture proxy'),
    project: key(z.string(), '', 'label of the turns that pass here'),
  }),
  capture: section({
    mode: key(z.enum(['full', 'metadata', 'off']), 'full', 'metadata: no bodies are stored; off: only counted'),
    max_body_bytes: key(
      z.int().check(z.minimum(1024)),
      33_554_432,
      'of one stored request or response; a larger one passes but is not stored',
    ),
  }),
  journal: section({
    max_bytes: key(
      z.int().check(z.minimum(1_048_576)),
      1_073_741_824,
      'on disk before turns are counted journal_full; never more than nine tenths of its volume',
    ),
  }),
  retention: section({
    days: unsetKey(
      z.int().check(z.minimum(1), z.maximum(36_500)),
      3_650,
      'sessions that were last seen longer ago are removed, unless starred; unset: none is',
    ),
    max_bytes: unsetKey(
      z.int().check(z.minimum(67_108_864)),
      1_099_511_627_776,
      'the oldest sessions are removed while the database holds more; unset: none is',
    ),
    projects: key(
      z.array(text((value) => (projectRule(value) ? null : "must be a list of 'project=days' or 'project=forever'"))),
      [],
      'project=days, in place of retention.days; project=forever: never removed',
    ),
    dry_run: key(z.boolean(), false, "nothing is removed; 'svc status' shows what would be"),
  }),
  api: section({
    listen: listen(':8081', 'read API'),
    web_ui: key(z.boolean(), true, 'serve the browser UI at /'),
    base_path: key(
      text(basePathProblem),
      '',
      'prefix under which a reverse proxy serves read API and UI, such as /svc',
    ),
    token: secretKey(
      text(tokenProblem),
      '',
      'bearer token for everything but /ping, /metrics, /swagger and the empty pages of the UI; prefer SVC_API_TOKEN',
    ),
    read_token: secretKey(
      text(tokenProblem),
      '',
      'second bearer token, which reads and changes nothing; needs api.token beside it; prefer SVC_API_READ_TOKEN',
    ),
    trust_caller_header: key(z.boolean(), false, 'believe x-svc-auth-subject: only behind a gateway that sets it'),
  }),
  cassettes: section({
    built_in: key(z.boolean(), true, 'let in export, search and skills, which come with the service'),
  }),
  ingest: section({ listen: listen(':8082', 'ingest API') }),
  allowed_hosts: key(z.array(text(hostProblem)), [], 'Host names besides loopback that the listeners answer to'),
  client: section({
    proxy_target: key(address(), 'http://localhost:8080', 'where client commands find the proxy'),
    api_target: key(address(), 'http://localhost:8081', 'where client commands find the read API'),
  }),
  vector_store: section({ target: secretKey(dsn(), '', 'DSN for vectors; empty: storage.postgres_dsn') }),
  embedding: section({
    provider: key(z.enum(['local', 'ollama', 'openai']), 'local', 'who embeds'),
    target: key(addressOrEmpty(), '', 'address of the embedder; empty: the default of its provider'),
    model: key(z.string(), '', 'model name or folder; empty: the default of its provider'),
    dimensions: key(
      z.int().check(z.minimum(0), z.maximum(16_000)),
      0,
      'of the vectors, for instance 768; 0: as the model has them',
    ),
  }),
  pricing: section({ file: key(z.string(), '', 'JSON with prices that override the built-in ones') }),
  budget: section({
    daily_usd: unsetKey(
      dollars(),
      1_000_000,
      'a day (UTC) that spends more raises an event, once; no call is blocked; unset: none',
    ),
    monthly_usd: unsetKey(dollars(), 10_000_000, 'the same for a calendar month in UTC'),
    projects: keyOfTables(
      z.array(
        text((value) =>
          projectBudget(value)
            ? null
            : "must be a list of 'project.daily_usd=25' or 'project.monthly_usd=400', or tables '[budget.projects.<name>]' with these two",
        ),
      ),
      projectBudgetTexts,
      'project.daily_usd=25, project.monthly_usd=400: budgets of single projects; in the file also [budget.projects.<name>]',
    ),
    webhook: secretKey(webhook(), '', 'address that is sent a POST for each event of a budget; empty: none'),
    webhook_secret: secretKey(z.string(), '', 'signs what the webhook is sent; prefer SVC_BUDGET_WEBHOOK_SECRET'),
  }),
  log: section({
    level: key(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']), 'info', 'JSON lines on stderr'),
  }),
  telemetry: section({
    endpoint: key(
      addressOrEmpty(),
      '',
      'OTLP over HTTP: receives the metrics of /metrics each minute, at <endpoint>/v1/metrics; empty: none',
    ),
    headers: secretKey(
      text(headerListProblem),
      '',
      'sent along, as name=value,name=value; prefer SVC_TELEMETRY_HEADERS',
    ),
    disabled: key(z.boolean(), false, 'this service sends none, whatever is set'),
  }),
  update: section({
    disabled: z
      .optional(z.boolean())
      .register(about, { description: 'this service never looks for updates by itself' }),
  }),
});
export type Config = z.infer<typeof Config>;
