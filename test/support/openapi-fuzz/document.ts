/** The contents of an OpenAPI document: its operations as a list, and a check of values against its schemas. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export type Schema = { [keyword: string]: unknown };
export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  description?: string;
  schema: Schema;
};
export type Content = Record<string, { schema?: Schema; examples?: unknown; example?: unknown }>;
export type Answer = { description: string; content?: Content; headers?: Record<string, Header> };
/** Named in lower case. */
export type Header = { description?: string; required?: boolean; schema: Schema };
export type Operation = {
  operationId: string;
  method: string;
  path: string;
  summary?: string;
  description?: string;
  tags?: string[];
  security?: unknown[];
  parameters: Parameter[];
  requestBody?: { required?: boolean; description?: string; content: Content };
  responses: Record<string, Answer>;
};
export type Document = {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>;
  components: {
    schemas: Record<string, Schema>;
    headers?: Record<string, Header>;
    responses?: Record<string, Answer>;
  };
};

/** An operation with its responses and their headers in place of the references to them. */
export const operationsOf = ({ paths, components }: Document): Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      parameters: operation.parameters ?? [],
      responses: Object.fromEntries(
        Object.entries(operation.responses).map(([status, declared]) => {
          const answer = followed(declared, components.responses);
          return [status, { ...answer, headers: headersOf(answer, components) }];
        }),
      ),
      method: method.toUpperCase(),
      path,
    })),
  );

const headersOf = ({ headers = {} }: Answer, components: Document['components']): Record<string, Header> =>
  Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, followed(header, components.headers)]));

/** @throws when the reference has no target */
function followed<Node extends object>(node: Node, components: Record<string, Node> = {}): Node {
  const { $ref } = node as { $ref?: string };
  const found = $ref === undefined ? node : components[$ref.split('/').at(-1) ?? ''];
  if (!found) throw new Error(`The reference ${$ref} leads nowhere`);
  return found;
}

/** `application/json` of `application/json; charset=utf-8`. */
export const bareType = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();
export const isJson = (contentType: string): boolean => /[/+]json$/.test(bareType(contentType));

/** The schema that a reference within the document stands for; any other as it is. */
export const resolved = ({ components }: Pick<Document, 'components'>, schema: Schema): Schema => {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined;
  return name === undefined ? schema : (components.schemas[name] ?? {});
};

export type Check = (schema: Schema, value: unknown) => string | null;

/**
 * What is wrong with a value, by JSON Schema 2020-12 with its formats; null: nothing.
 * @throws when a schema of the document is invalid, has an unknown keyword or a reference without a target
 */
export function schemaCheck({ components }: Pick<Document, 'components'>): Check {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    validateFormats: true,
  });
  ajv.removeKeyword('nullable'); // removed in OpenAPI 3.1
  ajv.addVocabulary(['example', 'discriminator', 'externalDocs', 'xml']); // keywords that OpenAPI adds
  formats.default(ajv);
  ajv.addFormat('binary', true); // OpenAPI's own: any bytes
  for (const [name, schema] of Object.entries(components.schemas)) ajv.addSchema(closed(schema), `schema:${name}`);
  for (const name of Object.keys(components.schemas)) ajv.getSchema(`schema:${name}`); // compiled, so that an invalid one is reported
  const compiled = new Map<string, ValidateFunction>();
  return (schema, value) => {
    const key = JSON.stringify(schema);
    const validate = compiled.get(key) ?? ajv.compile(closed(schema));
    compiled.set(key, validate);
    if (validate(value)) return null;
    return (validate.errors ?? [])
      .map(({ instancePath, message, params }) => `${instancePath || 'it'} ${message} ${JSON.stringify(params)}`)
      .join('; ');
  };
}

/**
 * The schema made strict for responses: a field that it does not name is an error, unless it expressly allows others.
 * References lead to the document's other schemas.
 */
const closed = (schema: unknown, part = false): Schema => {
  const rewrite = (node: unknown, composed: boolean): unknown => {
    if (Array.isArray(node)) return node.map((member) => rewrite(member, composed));
    if (typeof node !== 'object' || node === null) return node;
    const entries = Object.entries(node).map(([key, value]) => {
      if (key === '$ref') return [key, String(value).replace('#/components/schemas/', 'schema:')];
      if (['enum', 'const', 'default', 'examples', 'example', 'required'].includes(key)) return [key, value];
      if (key === 'properties')
        return [
          key,
          Object.fromEntries(Object.entries(value as Schema).map(([name, one]) => [name, rewrite(one, false)])),
        ];
      return [key, rewrite(value, key === 'allOf' || (key === 'anyOf' && 'properties' in node))]; // restricts the keywords beside it
    });
    const made: Schema = Object.fromEntries(entries);
    if (!composed && made.properties !== undefined && made.additionalProperties === undefined)
      made.unevaluatedProperties = false;
    return made;
  };
  return rewrite(schema, part) as Schema;
};
