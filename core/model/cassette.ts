/** The list of installed cassettes: what each of them is, what it may do and whether it is admitted; without secrets. */
import { z } from '@hono/zod-openapi';

const Digest = z.string().describe('sha256:<hex>');
const Instant = z.string().describe('RFC 3339, in UTC');

export const CassetteState = z
  .enum(['pending', 'admitted', 'stale', 'rejected', 'unresolved'])
  .describe(
    'stale: was admitted, and is not reached or refused now, so that its last good document stays; unresolved: could not be had',
  );

/** A setting, as the manifest declares it. */
const Setting = z.object({
  key: z.string(),
  type: z.enum(['string', 'int', 'bool', 'duration', 'json']),
  required: z.boolean(),
  secret: z.boolean().describe('its value is shown nowhere'),
  default: z.unknown().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  min: z.int().optional(),
  max: z.int().optional(),
});

const Confinement = z.object({
  level: z.enum(['full', 'partial', 'none']),
  stops: z.array(z.string()),
  does_not_stop: z.array(z.string()),
});

/** A cassette. What its manifest holds is absent until the manifest could be read. */
export const CassetteInfo = z.object({
  name: z.string().describe('as it is installed: its routes and tools follow it'),
  state: CassetteState,
  since: Instant,
  admitted_at: Instant.optional().describe('absent while it is not in'),
  required: z.boolean().describe('the service is not ready without it'),
  isolation: z.enum(['inline', 'process', 'remote']).describe('how it is isolated from the service'),
  confinement: Confinement.optional().describe('absent while it does not run'),
  liveness: z
    .object({ state: z.enum(['starting', 'up', 'restarting', 'down', 'closed']), restarts: z.int() })
    .optional()
    .describe('absent while it does not run'),
  route_prefix: z.string().describe('its operations are below'),
  openapi_path: z.string().describe('its contract'),
  openapi_status: z.enum(['fresh', 'stale', 'missing']),
  version: z.string().optional(),
  display_name: z.string().optional(),
  description: z.string().optional(),
  license: z.string().optional(),
  homepage: z.string().optional(),
  depends: z
    .object({ core: z.string(), views: z.array(z.string()), extensions: z.array(z.string()) })
    .optional()
    .describe('what it reads: views of svc_v1'),
  bindings: z
    .array(z.enum(['db', 'core', 'network', 'forward_auth']))
    .optional()
    .describe('what it asked for'),
  tables: z.array(z.string()).optional().describe('its own, with their schema'),
  config: z.array(Setting).optional(),
  schedule: z
    .object({ every_seconds: z.int(), on_change: z.boolean().optional() })
    .optional()
    .describe('absent: it has no background work'),
  last_run: z
    .object({ scheduled_at: Instant, ended_at: Instant.optional(), error: z.string().optional() })
    .optional()
    .describe('of its background work'),
  progress: z
    .object({ done: z.int(), pending: z.int(), failed: z.int() })
    .optional()
    .describe('items of its background work that are done, waiting and failed, as it last reported'),
  tools: z
    .array(z.object({ name: z.string(), title: z.string() }))
    .describe('in /v1/mcp, by the names that agents call; none while it is not in'),
  resources: z
    .array(z.object({ uri: z.string(), name: z.string(), title: z.string() }))
    .optional()
    .describe('in /v1/mcp; a URI with {…} is a template'),
  prompts: z
    .array(z.object({ name: z.string(), title: z.string() }))
    .optional()
    .describe('in /v1/mcp; a name that ends with … stands for all prompts that the cassette lists'),
  manifest_digest: Digest.optional(),
  openapi_digest: Digest.optional().describe('of its document as it came'),
  source_digest: Digest.optional().describe('of what was installed; absent of a remote one'),
});
export type CassetteInfo = z.infer<typeof CassetteInfo>;

const CassetteProblem = z.object({
  subject: z.string().describe('installed name'),
  step: z.string().describe('of admission, where it failed'),
  reason: z.string(),
  problems: z.array(z.string()).describe('each of them, where there are several'),
  observed_at: Instant,
});

export const CassetteList = z
  .object({
    contract_version: z.literal('v1').describe('which read API a cassette can depend on'),
    cassettes: z.array(CassetteInfo).describe('by name'),
    problems: z.array(CassetteProblem).describe('why some are not in, or not fresh; by subject'),
  })
  .openapi('CassetteList', {
    examples: [
      {
        contract_version: 'v1',
        cassettes: [
          {
            name: 'search',
            state: 'admitted',
            since: '2026-07-27T10:00:02Z',
            admitted_at: '2026-07-27T10:00:02Z',
            required: false,
            isolation: 'inline',
            confinement: { level: 'none', stops: [], does_not_stop: ['it runs in the process of the service'] },
            liveness: { state: 'up', restarts: 0 },
            route_prefix: '/v1/cassettes/search',
            openapi_path: '/v1/cassettes/search/openapi.json',
            openapi_status: 'fresh',
            version: '1.0.0',
            display_name: 'Search',
            depends: { core: 'v1', views: ['spans'], extensions: ['vector'] },
            bindings: ['db'],
            tables: ['cassette_search.span_vectors'],
            config: [
              {
                key: 'embedding.provider',
                type: 'string',
                required: false,
                secret: false,
                default: 'local',
                enum: ['local', 'openai'],
              },
              { key: 'embedding.api_key', type: 'string', required: false, secret: true },
            ],
            schedule: { every_seconds: 30 },
            last_run: { scheduled_at: '2026-07-27T10:05:00.000Z', ended_at: '2026-07-27T10:05:01.250Z' },
            progress: { done: 1204, pending: 35, failed: 2 },
            tools: [{ name: 'search_search', title: 'Spans that mean the same' }],
            manifest_digest: 'sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef',
            openapi_digest: 'sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
            source_digest: 'sha256:fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13',
          },
          {
            name: 'summaries',
            state: 'rejected',
            since: '2026-07-27T10:00:03Z',
            required: false,
            isolation: 'process',
            route_prefix: '/v1/cassettes/summaries',
            openapi_path: '/v1/cassettes/summaries/openapi.json',
            openapi_status: 'missing',
            tools: [],
          },
        ],
        problems: [
          {
            subject: 'summaries',
            step: 'config',
            reason: 'Cannot start it with these settings: "api_key" is missing: set SVC_CASSETTE_SUMMARIES_API_KEY',
            problems: ['"api_key" is missing: set SVC_CASSETTE_SUMMARIES_API_KEY'],
            observed_at: '2026-07-27T10:00:03Z',
          },
        ],
      },
    ],
  });
export type CassetteList = z.infer<typeof CassetteList>;
