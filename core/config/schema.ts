/** What can an operator set? Every key with its type, default and meaning; flags, environment, file and README follow this table. */
import { z } from 'zod';
import { ProviderId } from '../model/provider.ts';

const listen = (fallback: string, what: string) =>
  z.string().default(fallback).describe(`${what}; without a host: loopback only`);

/**
 * `.svc/config.toml` with environment and flags laid over it. An unknown key is a typo, so it is refused.
 * Strict at every level; each leaf is a string, boolean, integer, choice, or list of strings.
 */
export const Config = z.strictObject({
  version: z.literal(0).default(0).describe('of this file'),
  storage: z
    .strictObject({
      postgres_dsn: z
        .string()
        .default('')
        .describe('PostgreSQL 17 or later; empty: the embedded database in .svc/data'),
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
          brokers: z.array(z.string()).default([]).describe('host:port of Kafka brokers; empty: nothing is published'),
          topic: z.string().default('').describe('for node events'),
          client_id: z.string().default('svc').describe('told to the brokers'),
        })
        .prefault({}),
    })
    .prefault({}),
  proxy: z
    .strictObject({
      provider: ProviderId.default('ollama').describe('format of the bare paths'),
      upstream: z
        .string()
        .default('')
        .describe('where the bare paths go; empty: the address of proxy.upstreams for the provider'),
      upstreams: z
        .strictObject({
          anthropic: z.url().default('https://api.anthropic.com').describe('where /anthropic/… goes'),
          openai: z.url().default('https://api.openai.com').describe('where /openai/… goes'),
          ollama: z.url().default('http://localhost:11434').describe('where /ollama/… goes'),
        })
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
        .describe('metadata: no bodies are kept; off: only counted'),
      max_body_bytes: z
        .int()
        .min(1024)
        .default(33_554_432)
        .describe('of one request or one answer kept; more passes but is not kept'),
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
      web_ui: z.boolean().default(false).describe('serve the browser UI at /'),
      token: z
        .string()
        .default('')
        .describe('bearer token for everything but /ping and /metrics; prefer SVC_API_TOKEN'),
      trust_caller_header: z
        .boolean()
        .default(false)
        .describe('believe x-svc-auth-subject: only behind a gateway that sets it'),
    })
    .prefault({}),
  ingest: z.strictObject({ listen: listen(':8082', 'ingest API') }).prefault({}),
  allowed_hosts: z.array(z.string()).default([]).describe('Host names besides loopback that the listeners answer to'),
  client: z
    .strictObject({
      proxy_target: z.url().default('http://localhost:8080').describe('where client commands find the proxy'),
      api_target: z.url().default('http://localhost:8081').describe('where client commands find the read API'),
    })
    .prefault({}),
  vector_store: z
    .strictObject({ target: z.string().default('').describe('DSN for vectors; empty: storage.postgres_dsn') })
    .prefault({}),
  embedding: z
    .strictObject({
      provider: z.enum(['local', 'ollama', 'openai']).default('local').describe('who embeds'),
      target: z.string().default('').describe('address of the embedder; empty: the default of its provider'),
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
