/**
 * What does a listener promise? The document compiled from its routes, and a fingerprint of it that tells when a promise moved.
 * Doc comments do not count: descriptions, titles and examples of schemas. Text that stands on a route does. (Seed, 'Versioning'.)
 */
import { createHash } from 'node:crypto';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Env } from 'hono';
import { canonicalJson } from '../merkle/canonical-json.ts';

export type Document = ReturnType<OpenAPIHono['getOpenAPI31Document']>;

export const contractOf = <E extends Env>(
  app: OpenAPIHono<E>,
  { title, version }: { title: string; version: string },
): Document =>
  app.getOpenAPI31Document({ openapi: '3.1.0', info: { title, version } }, { sortComponents: 'alphabetically' });

/** `sha256:<hex>` of the document in canonical JSON (RFC 8785), without prose, version and servers. */
export const seal = (document: Document): string => {
  const { servers: _, info, ...rest } = document as unknown as Json & { info: Json };
  const { version: __, ...named } = info;
  const text = canonicalJson(promised({ ...rest, info: named }));
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
};

type Json = Record<string, unknown>;

/** Walks the document until it comes to schemas and parameters, whose text is a doc comment. */
const promised = (node: unknown, key = ''): unknown => {
  if (Array.isArray(node)) return node.map((member) => (key === 'parameters' ? parameter(member) : promised(member)));
  if (!isObject(node)) return node;
  if (key === 'schemas') return mapValues(node, schema);
  if (key === 'parameters') return mapValues(node, parameter);
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, name === 'schema' ? schema(value) : promised(value, name)]),
  );
};

const PROSE = new Set(['description', 'title', 'example', 'examples', '$comment', 'externalDocs']);
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas']); // maps of schemas by name
const NESTED = new Set(['items', 'additionalProperties', 'allOf', 'anyOf', 'oneOf', 'not', 'prefixItems', 'contains']);

const schema = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(schema);
  if (!isObject(node)) return node;
  const bare = Object.fromEntries(
    Object.entries(node)
      .filter(([key]) => !PROSE.has(key))
      .map(([key, value]) => {
        if (NAMED.has(key) && isObject(value)) return [key, mapValues(value, schema)];
        return [key, NESTED.has(key) ? schema(value) : value];
      }),
  );
  return withoutWrapper(bare);
};

/** A description beside a reference is compiled to `allOf: [reference, description]`, which says no more than the reference. */
const withoutWrapper = (node: Json): Json => {
  if (!Array.isArray(node.allOf)) return node;
  const { allOf, ...rest } = node;
  const saying = (allOf as unknown[]).filter((part) => !isObject(part) || Object.keys(part).length > 0);
  const [only] = saying;
  return saying.length === 1 && isObject(only) && Object.keys(rest).length === 0 ? only : { ...rest, allOf: saying };
};

const parameter = (node: unknown): unknown => {
  if (!isObject(node)) return node;
  const { description: _, example: __, examples: ___, ...rest } = node;
  return { ...rest, ...('schema' in rest ? { schema: schema(rest.schema) } : {}) };
};

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const mapValues = (node: Json, map: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, map(value)]));
