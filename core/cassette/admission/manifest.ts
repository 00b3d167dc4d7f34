/** A cassette's manifest, `svc.cassette/v1`: its schema, checked to the last key, with its defaults filled in. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../../merkle/canonical-json.ts';
import { CassetteName } from '../list/list.ts';
import { rejection } from '../openapi/problems.ts';
import { Rejection } from '../running.ts';
import { type DeclaredSetting, settingProblem } from './setting-value.ts';

/** Rules over several members are checked even where a member is wrong, so that one check finds every problem. */
const ALWAYS = { when: () => true };

const text = (most: number) => z.string().min(1, 'must not be empty').max(most, `must have at most ${most} characters`);
const Identifier = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,62}$/, 'must be 1 to 63 of a-z, 0-9 and _, beginning with a letter');

const OwnPath = z
  .string()
  .max(200, 'must have at most 200 characters')
  .regex(/^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/, 'must be an absolute path of plain segments, such as "/ping"');

const unique =
  (what: string, of: (one: unknown) => unknown = (one) => one) =>
  (list: unknown, ctx: z.core.$RefinementCtx): void => {
    if (!Array.isArray(list)) return;
    const names = list.map(of);
    names.forEach((name, index) => {
      if (typeof name === 'string' && names.indexOf(name) < index)
        ctx.addIssue({ code: 'custom', path: [index], message: `the ${what} "${name.slice(0, 100)}" stands twice` });
    });
  };
const member = (key: string) => (one: unknown) => (one as Record<string, unknown> | null)?.[key];

const views = z
  .array(
    Identifier.refine((name) => name !== 'raw_turns', 'is never read by a cassette: raw turns stay with the service'),
  )
  .max(100)
  .superRefine(unique('view'), ALWAYS);

const common = {
  key: z
    .string()
    .max(100, 'must have at most 100 characters')
    .regex(/^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*$/, 'must be dotted snake case, such as "model.name"'),
  required: z.boolean().optional().describe('without a value it does not come in'),
  secret: z.boolean().optional().describe('never shown; has no default'),
  description: text(2000).optional(),
};

/** A default is checked below, together with its bounds. */
const anything = z.unknown().optional();

const Setting = z
  .discriminatedUnion('type', [
    z.strictObject({
      ...common,
      type: z.literal('string'),
      default: anything,
      enum: z
        .array(z.string())
        .min(1, 'must name at least one value')
        .max(100)
        .superRefine(unique('value'), ALWAYS)
        .optional(),
    }),
    z.strictObject({
      ...common,
      type: z.literal('int'),
      default: anything,
      min: z.int().optional(),
      max: z.int().optional(),
    }),
    z.strictObject({ ...common, type: z.literal('bool'), default: anything }),
    z.strictObject({
      ...common,
      type: z.literal('duration'),
      default: anything.describe('such as "30s": ms, s, m, h or d'),
    }),
    z.strictObject({ ...common, type: z.literal('json'), default: anything }),
  ])
  .superRefine((input, ctx) => {
    if (typeof input !== 'object' || input === null) return;
    const setting = input as Partial<DeclaredSetting>;
    const addProblem = (path: string, message: string) => ctx.addIssue({ code: 'custom', path: [path], message });
    if (typeof setting.min === 'number' && typeof setting.max === 'number' && setting.min > setting.max)
      addProblem('min', 'must not be above max');
    if (!('default' in setting) || setting.default === undefined) return;
    if (setting.secret === true) addProblem('default', 'must be left out: a secret has none');
    else {
      const problem = settingProblem(setting as DeclaredSetting, setting.default);
      if (problem) addProblem('default', problem);
    }
  }, ALWAYS);

const envName = (one: unknown) => {
  const key = member('key')(one);
  return typeof key === 'string' ? environmentName(key) : undefined;
};

/** The published shape: `manifest.schema.json` is this as JSON Schema. */
export const Manifest = z.strictObject({
  kind: z.literal('svc.cassette/v1', 'must be "svc.cassette/v1"'),
  cassette: z.strictObject({
    name: CassetteName.describe('part of its own paths, whatever it is installed as'),
    version: z.string().max(100).regex(/\S/, 'must not be blank'),
    display_name: text(100).optional(),
    description: text(4000).optional(),
    license: text(100).optional(),
    homepage: z
      .string()
      .max(2000)
      .refine(isWebAddress, 'must be an http or https address without credentials')
      .optional(),
  }),
  depends: z
    .strictObject({
      core: z
        .string()
        .regex(/^v[1-9][0-9]*$/, 'must be a version such as "v1"')
        .default('v1')
        .describe('which read API'),
      views: views.default([]).describe('of svc_v1, read through DB'),
      extensions: z
        .array(Identifier)
        .max(20)
        .superRefine(unique('extension'), ALWAYS)
        .default([])
        .describe('of PostgreSQL'),
    })
    .prefault({}),
  api: z
    .strictObject({
      health: OwnPath.default('/ping').describe('any 2xx: healthy'),
      openapi: OwnPath.default('/openapi').describe('its OpenAPI 3.1 document'),
      prefix_path: z
        .string()
        .max(200)
        .regex(
          /^(?:\/|[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*)$/,
          'must be plain segments such as "api", or "/" for none',
        )
        .default('api')
        .describe('before the name in its own paths'),
    })
    .superRefine((api, ctx) => {
      if (typeof api?.health === 'string' && api.health === api.openapi)
        ctx.addIssue({ code: 'custom', path: ['openapi'], message: 'must be another path than health' });
    }, ALWAYS)
    .prefault({}),
  bindings: z
    .strictObject({
      db: z.boolean().default(false).describe('a role and a schema of its own'),
      core: z.boolean().default(false).describe('the read API'),
      network: z.boolean().default(false).describe('connections to other machines'),
      forward_auth: z.boolean().default(false).describe("the caller's authorization, cookie and name"),
    })
    .prefault({}),
  tables: z
    .array(z.strictObject({ name: Identifier }))
    .max(500)
    .superRefine(unique('table', member('name')), ALWAYS)
    .default([])
    .describe('in its own schema'),
  config: z
    .array(Setting)
    .max(200)
    .superRefine(unique('key, as the name of an environment variable,', envName), ALWAYS)
    .default([]),
  schedule: z
    .strictObject({
      every_seconds: z
        .int()
        .min(1, 'must be at least 1')
        .max(31_536_000, 'must be at most a year')
        .describe('between the beginnings of two runs'),
      on_change: z.boolean().optional().describe('also soon after a session has changed'),
    })
    .optional(),
});

/** A manifest as it was written, with its defaults filled in; `api.prefix_path` is empty where there is none. */
export type DeclaredManifest = Omit<z.output<typeof Manifest>, 'config'> & { config: DeclaredSetting[] };

/** @throws {Rejection} manifest, with every problem: where it is, and what would be valid */
export function parseManifest(value: unknown): DeclaredManifest {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Rejection(
      'manifest',
      `Cannot read the manifest: ${value === undefined ? 'there is none' : 'it is no object'}`,
    );
  const result = Manifest.safeParse(value);
  if (!result.success) {
    const problems = result.error.issues.flatMap((issue) => problemsOf(issue));
    throw rejection('manifest', 'Cannot read the manifest', problems);
  }
  const { api, ...rest } = result.data;
  return { ...rest, api: { ...api, prefix_path: api.prefix_path === '/' ? '' : api.prefix_path } };
}

/** `sha256:<hex>` over canonical JSON: the order of keys and of lists, and defaults that were written out, do not count. */
export function manifestDigest(manifest: DeclaredManifest): string {
  const { depends, tables, config, ...rest } = manifest;
  const sorted = {
    ...rest,
    depends: { ...depends, views: [...depends.views].sort(), extensions: [...depends.extensions].sort() },
    tables: tables.map(({ name }) => name).sort(),
    config: config
      .map(({ required = false, secret = false, ...setting }) => ({
        ...setting,
        required,
        secret,
        ...(setting.enum ? { enum: [...setting.enum].sort() } : {}),
      }))
      .sort((one, other) => (one.key < other.key ? -1 : 1)),
  };
  return `sha256:${createHash('sha256').update(canonicalJson(sorted)).digest('hex')}`;
}

/** A key's part of its variable's name: `MODEL_NAME` of `SVC_CASSETTE_<NAME>_MODEL_NAME` for `model.name`. */
export const environmentName = (key: string): string => key.toUpperCase().replaceAll('.', '_');

/** The prefix of the cassette's own paths: `/api/search`. */
export const ownPrefix = ({ api, cassette }: Pick<DeclaredManifest, 'api' | 'cassette'>): string =>
  [api.prefix_path, cassette.name].map((part) => (part === '' ? '' : `/${part}`)).join('');

/** @param module the module's manifest @throws {Rejection} manifest: that of its document differs */
export function refuseOtherManifest(module: unknown, document: DeclaredManifest): void {
  if (manifestDigest(parseManifest(module)) !== manifestDigest(document))
    throw new Rejection(
      'manifest',
      'Cannot tell what it is: the manifest of its module and "x-svc-cassette" of its OpenAPI document differ',
    );
}

/** One line for each problem: `config[2].default: must be …`. */
function problemsOf(issue: z.core.$ZodIssue): string[] {
  const where = issue.path.reduce<string>(
    (path, part) => (typeof part === 'number' ? `${path}[${part}]` : `${path}${path === '' ? '' : '.'}${String(part)}`),
    '',
  );
  const at = (key: string) => (where === '' ? key : `${where}.${key}`);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => `${at(key.slice(0, 100))}: there is no such member`);
    case 'invalid_union':
      return [`${where}: must be string, int, bool, duration or json`];
    case 'invalid_type':
      return [
        `${where}: ${/received undefined$/.test(issue.message) ? 'is missing' : `must be ${named(issue.expected)}`}`,
      ];
    case 'too_big':
      return [`${where}: ${issue.origin === 'array' ? `must have at most ${issue.maximum} entries` : issue.message}`];
    default:
      return [`${where === '' ? 'the manifest' : where}: ${issue.message}`];
  }
}

const named = (type: string): string =>
  ({
    string: 'a text',
    boolean: 'true or false',
    array: 'a list',
    object: 'an object',
    int: 'a whole number',
    number: 'a number',
  })[type] ?? type;

function isWebAddress(address: string): boolean {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return false;
  const { username, password } = new URL(address);
  return username === '' && password === '';
}
