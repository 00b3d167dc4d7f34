/** The configuration's schema: every key with its type, default and meaning. Flags, environment, file and README.md beside it follow from it. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { forEachProvider, ProviderId } from '../provider/providers.ts';
import { listenProblem } from './listen.ts';

/** A string that `problem` accepts (null). Its message completes a sentence that begins with the key: `must be …`. */
const text = (problem: (value: string) => string | null) =>
  z.string().superRefine((value, context) => {
    const message = problem(value);
    if (message) context.addIssue({ code: 'custom', message });
  });

const listen = (fallback: string, what: string) =>
  text(listenProblem).default(fallback).describe(`${what}; without a host: loopback only`);

/** The address of another service: without credentials (they would be shown), and with nothing after the path. */
function addressProblem(value: string): string | null {
  const url = /^https?:\/\//i.test(value) && URL.canParse(value) ? new URL(value) : null;
  if (!url) return "must be an address, such as 'http://localhost:11434'";
  if (url.username || url.password) return 'must be an address without a name or password';
  return /[?#]/.test(value) ? "must be an address without '?' or '#'" : null;
}

const hostProblem = (value: string): string | null =>
  isIP(value) > 0 || /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i.test(value)
    ? null
    : 'must be a list of host names, without scheme, path or wildcard';

/** The first segments of the read API's own paths: below one of them it could not tell whether a prefix was passed on. */
const OWN_SEGMENTS = ['v1', 'ui', 'ping', 'metrics', 'openapi', 'swagger', 'sessions', 'spans', 'skills'];

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
const addressOrEmpty = () => text((value) => (value === '' ? null : addressProblem(value)));

const tokenProblem = (value: string): string | null =>
  /^[\x21-\x7e]*$/.test(value) ? null : 'must be printable ASCII without spaces';

const dsn = () =>
  text((value) =>
    value === '' || /^postgres(ql)?:\/\/./i.test(value)
      ? null
      : "must be empty or begin with 'postgres://', such as 'postgres://user:password@host:5432/database'",
  );

/** Marks a key whose value is never shown. */
const SECRET = { secret: true };

/** The default address of each provider. */
export const UPSTREAMS: Readonly<Record<ProviderId, string>> = forEachProvider(({ upstream }) => upstream);

/**
 * `.svc/config.toml`, overridden by environment and flags. An unknown key is a typo, so it is refused.
 * Strict at every level; each leaf is a string, boolean, integer, choice, or list of strings.
 */
export const Config = z.strictObject({
  version: z.literal(0).default(0).describe('of the form that the file has'),
  storage: z
    .strictObject({
      postgres_dsn: dsn()
        .default('')
        .describe('PostgreSQL 17 or later; empty: the embedded database in .svc/data')
        .meta(SECRET),
      pooled: z
        .boolean()
        .default(false)
        .describe('the DSN leads to a transaction pooler: no prepared statements, no LISTEN'),
    })
    .prefault({}),
  publisher: z
    .strictObject({
      stream: z
        .strictObject({
          brokers: z
            .array(text((value) => (/^[^\s/@]+:\d{1,5}$/.test(value) ? null : "must be a list of 'host:port'")))
            .default([])
            .describe('host:port of Kafka brokers; empty: nothing is published'),
          topic: z.string().default('').describe('for node events'),
          client_id: z.string().default('svc').describe('the name shown to the brokers'),
        })
        .prefault({}),
    })
    .prefault({}),
  proxy: z
    .strictObject({
      provider: ProviderId.default('ollama').describe('format of the bare paths'),
      upstream: addressOrEmpty()
        .default('')
        .describe('where the bare paths go; empty: the address of proxy.upstreams for the provider'),
      upstreams: z
        .strictObject(
          forEachProvider(({ id, upstream }) => address().default(upstream).describe(`where /${id}/… goes`)),
        )
        .prefault({}),
      listen: listen(':8080', 'capture proxy'),
      project: z.string().default('').describe('label of the turns that pass here'),
    })
    .prefault({}),
  capture: z
    .strictObject({
      mode: z
        .enum(['full', 'metadata', 'off'])
        .default('full')
        .describe('metadata: no bodies are stored; off: only counted'),
      max_body_bytes: z
        .int()
        .min(1024)
        .default(33_554_432)
        .describe('of one stored request or response; a larger one passes but is not stored'),
    })
    .prefault({}),
  journal: z
    .strictObject({
      max_bytes: z
        .int()
        .min(1_048_576)
        .default(1_073_741_824)
        .describe('on disk before turns are counted journal_full'),
    })
    .prefault({}),
  api: z
    .strictObject({
      listen: listen(':8081', 'read API'),
      web_ui: z.boolean().default(true).describe('serve the browser UI at /'),
      base_path: text(basePathProblem)
        .default('')
        .describe('prefix under which a reverse proxy serves read API and UI, such as /svc'),
      token: text(tokenProblem)
        .default('')
        .describe(
          'bearer token for everything but /ping, /metrics, /swagger and the empty pages of the UI; prefer SVC_API_TOKEN',
        )
        .meta(SECRET),
      read_token: text(tokenProblem)
        .default('')
        .describe(
          'second bearer token, which reads and changes nothing; needs api.token beside it; prefer SVC_API_READ_TOKEN',
        )
        .meta(SECRET),
      trust_caller_header: z
        .boolean()
        .default(false)
        .describe('believe x-svc-auth-subject: only behind a gateway that sets it'),
    })
    .prefault({}),
  cassettes: z
    .strictObject({
      built_in: z.boolean().default(true).describe('let in export, search and skills, which come with the service'),
    })
    .prefault({}),
  ingest: z.strictObject({ listen: listen(':8082', 'ingest API') }).prefault({}),
  allowed_hosts: z
    .array(text(hostProblem))
    .default([])
    .describe('Host names besides loopback that the listeners answer to'),
  client: z
    .strictObject({
      proxy_target: address().default('http://localhost:8080').describe('where client commands find the proxy'),
      api_target: address().default('http://localhost:8081').describe('where client commands find the read API'),
    })
    .prefault({}),
  vector_store: z
    .strictObject({ target: dsn().default('').describe('DSN for vectors; empty: storage.postgres_dsn').meta(SECRET) })
    .prefault({}),
  embedding: z
    .strictObject({
      provider: z.enum(['local', 'ollama', 'openai']).default('local').describe('who embeds'),
      target: addressOrEmpty().default('').describe('address of the embedder; empty: the default of its provider'),
      model: z.string().default('').describe('model name or folder; empty: the default of its provider'),
      dimensions: z
        .int()
        .min(0)
        .max(16_000)
        .default(0)
        .describe('of the vectors, for instance 768; 0: as the model has them'),
    })
    .prefault({}),
  pricing: z
    .strictObject({ file: z.string().default('').describe('JSON with prices that override the built-in ones') })
    .prefault({}),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
        .default('info')
        .describe('JSON lines on stderr'),
    })
    .prefault({}),
  telemetry: z
    .strictObject({ disabled: z.boolean().default(false).describe('this service sends none, whatever is set') })
    .prefault({}),
  update: z
    .strictObject({ disabled: z.boolean().optional().describe('this service never looks for updates by itself') })
    .prefault({}),
});
export type Config = z.infer<typeof Config>;
