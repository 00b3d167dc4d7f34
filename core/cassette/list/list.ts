/** The operator's list of cassettes: entries of `cassette.manifest.json`, ours extended or replaced by name by the user's. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../../merkle/canonical-json.ts';

export const CassetteName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/, 'must be 2 to 32 of a-z, 0-9 and -, beginning with a letter')
  .refine((name) => !reserved(name), 'is reserved');

/** Names that a route, a role or a tool of ours uses. */
export const reserved = (name: string): boolean =>
  name === 'svc' || name === 'public' || name.startsWith('pg-') || name.startsWith('svc-');

export const Binding = z.enum(['db', 'core', 'network', 'forward_auth']);

export const Grants = z.strictObject({
  bindings: z.array(Binding).default([]).describe('of those that its manifest asks for'),
  views: z.array(z.string()).default([]).describe('of svc_v1, that it may read'),
  extensions: z.array(z.string()).default([]).describe('of PostgreSQL, that may be made for it'),
});
export type Grants = z.infer<typeof Grants>;

export const ListEntry = z.strictObject({
  name: CassetteName.describe('installed name: its routes, tools, role and schema follow it'),
  source: z
    .string()
    .min(1)
    .describe(
      'a folder or file, relative to the list; npm:<package>@<version>, installed; the address of an OpenAPI document; or built-in: ours of that name',
    ),
  digest: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits')
    .optional()
    .describe('what it must be, its dependencies included; an address: its document'),
  isolation: z.enum(['inline', 'process', 'remote']).optional().describe('default: process; an address: remote'),
  required: z.boolean().default(false).describe('the service is not ready without it'),
  enabled: z.boolean().default(true).describe('false: listed, not started'),
  config: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('its settings by their keys; secrets belong into the environment'),
  grants: Grants.prefault({}),
});
export type ListEntry = z.infer<typeof ListEntry>;

export const ListFile = z.strictObject({
  $schema: z.string().optional(),
  cassettes: z.array(ListEntry),
});
export type ListFile = z.infer<typeof ListFile>;

/** Both lists as one, sorted by name; the user's entries replace ours of the same name. */
export const merged = (builtIn: readonly ListEntry[], users: readonly ListEntry[]): ListEntry[] =>
  [...new Map([...builtIn, ...users].map((entry) => [entry.name, entry])).values()].sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );

/** `sha256:<hex>` over the list in effect, in canonical JSON: it changes whenever anything in it changes. */
export const listDigest = (entries: readonly ListEntry[]): string =>
  `sha256:${createHash('sha256').update(canonicalJson(entries)).digest('hex')}`;
