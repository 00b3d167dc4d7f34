/**
 * A listener's contract: the OpenAPI document compiled from its routes, and a seal (fingerprint) that changes when a promise does.
 * Doc comments do not count: descriptions and titles of schemas, and examples. Texts of a route do.
 */
import { createHash } from 'node:crypto';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Env } from 'hono';
import { canonicalJson } from '../merkle/canonical-json.ts';
import { isObject } from '../parse-json.ts';
import { type Failures, withResponses } from './contract-responses.ts';
import { PROBLEMS } from './problem-examples.ts';

export type Document = ReturnType<OpenAPIHono['getOpenAPI31Document']>;

/** @param bearer the listener can be configured to require a token; a route that never does declares `security: []` */
export type About = {
  title: string;
  version: string;
  bearer?: boolean;
  /** The listener's failure responses. Default: problems. */
  failures?: Failures;
};

export const contractOf = <E extends Env>(
  app: OpenAPIHono<E>,
  { title, version, bearer = false, failures = PROBLEMS }: About,
): Document => {
  const {
    paths: declared,
    components,
    ...document
  } = app.getOpenAPI31Document(
    { openapi: '3.1.0', info: { title, version }, ...(bearer ? { security: [{ bearer: [] }, {}] } : {}) },
    { sortComponents: 'alphabetically' },
  );
  const { paths, components: sharedComponents } = withResponses(
    declared as Parameters<typeof withResponses>[0],
    failures,
  );
  return {
    ...document,
    components: { ...components, ...sharedComponents, ...(bearer ? { securitySchemes: { bearer: BEARER } } : {}) },
    paths,
  } as Document;
};

const BEARER = { type: 'http', scheme: 'bearer', description: 'Asked for where the operator has set one' } as const;

/** `sha256:<hex>` of the document in canonical JSON (RFC 8785), without prose, version and servers. */
export const seal = (document: Document): string => {
  const { servers: _, info, ...rest } = document as unknown as Json & { info: Json };
  const { version: __, ...named } = info;
  const text = canonicalJson(withoutProse({ ...rest, info: named }));
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
};

type Json = Record<string, unknown>;

/** The document without what does not count: texts of schemas and parameters are doc comments. */
const withoutProse = (node: unknown, key = ''): unknown => {
  if (Array.isArray(node)) return key === 'parameters' ? parameters(node) : node.map((member) => withoutProse(member));
  if (!isObject(node)) return node;
  if (key === 'schemas') return mapValues(node, schema);
  if (key === 'content') return mapValues(node, media);
  if (key === 'parameters') return mapValues(node, parameter);
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, name === 'schema' ? schema(value) : withoutProse(value, name)]),
  );
};

const media = (node: unknown): unknown => {
  if (!isObject(node)) return node;
  const { example: _, examples: __, ...rest } = node;
  return withoutProse(rest);
};

const PROSE = new Set(['description', 'title', 'example', 'examples', '$comment', 'externalDocs']);
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas']); // maps of schemas by name
const SUBSCHEMAS = new Set([
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'items', 'prefixItems', 'unevaluatedItems', 'contains'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'contentSchema'],
]);

const schema = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(schema);
  if (!isObject(node)) return node;
  const stripped = Object.fromEntries(
    Object.entries(node)
      .filter(([key]) => !PROSE.has(key))
      .map(([key, value]) => {
        if (SCHEMA_MAPS.has(key) && isObject(value)) return [key, mapValues(value, schema)];
        if (key === 'required' && Array.isArray(value)) return [key, [...value].sort()]; // a set: its order is that of the source
        return [key, SUBSCHEMAS.has(key) ? schema(value) : value];
      }),
  );
  return withoutWrapper(stripped);
};

/** A description beside a reference is compiled to `allOf: [reference, description]`, which means the same as the reference. */
const withoutWrapper = (node: Json): Json => {
  if (!Array.isArray(node.allOf)) return node;
  const { allOf, ...rest } = node;
  const meaningful = (allOf as unknown[]).filter((part) => !isObject(part) || Object.keys(part).length > 0);
  const [only] = meaningful;
  return meaningful.length === 1 && isObject(only) && Object.keys(rest).length === 0
    ? only
    : { ...rest, allOf: meaningful };
};

/** A set as well: the order of parameters has no meaning. */
const parameters = (nodes: readonly unknown[]): unknown[] =>
  nodes.map(parameter).sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
const sortKey = (node: unknown): string => (isObject(node) ? `${node.in} ${node.name} ${node.$ref}` : '');

const parameter = (node: unknown): unknown => {
  if (!isObject(node)) return node;
  const { description: _, example: __, examples: ___, ...rest } = node;
  return { ...rest, ...('schema' in rest ? { schema: schema(rest.schema) } : {}) };
};

const mapValues = (node: Json, map: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, map(value)]));
