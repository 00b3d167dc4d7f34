/** The tools that a cassette offers to agents: POST operations with `x-svc-mcp`, whose schemas are made self-contained. */
import { z } from 'zod';
import { rejection } from '../admission/rejection.ts';
import type { Isolation } from '../running.ts';
import {
  changed,
  isNode,
  type Node,
  type OpenApi,
  placeOf,
  pointerOf,
  pointerParts,
  valueAtPointer,
  visit,
} from './openapi-shape.ts';

export const EXTENSION = 'x-svc-mcp';

const MOST_TOOLS = 128;
const MOST_SCHEMA = 65_536; // characters; it takes space in an agent's context
const MOST_SCHEMAS = 262_144; // of all of them together
const MOST_DESCRIPTION = 4096;

export type ToolSchema = { type: 'object'; [keyword: string]: unknown };

export type ToolDeclaration = {
  /** The name as the cassette declares it. */
  name: string;
  /** The name as agents see it: installed name, `_`, own name. Installed names have no `_`, so that no two cassettes share one. */
  full_name: string;
  title: string;
  description: string;
  inputSchema: ToolSchema;
  outputSchema: ToolSchema;
  annotations: { readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint?: boolean };
  /** The path to which a call is sent, by POST: one of the cassette's own. */
  path: string;
};

/** Unknown members are for other readers, and ignored. */
const Declaration = z.object({
  name: z
    .string('needs a name')
    .regex(
      /^[A-Za-z0-9_-]+$/,
      'needs a name of A-Z, a-z, 0-9, _ and -; some models refuse tools with a dot or anything else',
    ),
  annotations: z
    .object({
      readOnlyHint: z.boolean().optional(),
      destructiveHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
      openWorldHint: z.boolean().optional(),
    })
    .optional(),
});

const FULL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The installation for which a document is read. */
export type Installing = { name: string; isolation: Isolation };

/**
 * The tools, sorted by name. The document has been checked: it is valid and its references lead somewhere.
 * @param installing a remote tool reaches out of this machine, whatever it declares
 * @throws {Rejection} tools, with every problem
 */
export async function toolDeclarations(document: OpenApi, { name, isolation }: Installing): Promise<ToolDeclaration[]> {
  const problems: string[] = [];
  const found: ToolDeclaration[] = [];
  let count = 0;
  visit(document, 'document', (node, kind, path) => {
    if (!(EXTENSION in node)) return;
    const [root, route, method, ...deeper] = path;
    if (isOffer(node[EXTENSION]) && kind === 'operation' && root === 'paths' && deeper.length === 0) {
      if (method !== 'get') problems.push(`${placeOf(path)}: a resource or a prompt stands on a GET operation`);
      return; // offers.ts reads it
    }
    if (kind !== 'operation' || root !== 'paths' || method !== 'post' || deeper.length > 0)
      problems.push(
        `${placeOf(path)}: ${EXTENSION} stands on POST operations only, with "resource" or "prompt" on GET operations`,
      );
    else if (++count <= MOST_TOOLS) {
      const read = declared(document, String(route), node, { name, isolation });
      if (typeof read === 'string') problems.push(`${placeOf(path)}: ${read}`);
      else found.push(read);
    }
  });
  if (count > MOST_TOOLS) problems.push(`it declares ${count} tools, and at most ${MOST_TOOLS} can be offered`);
  const names = found.map((tool) => tool.name);
  for (const twice of new Set(names.filter((one, index) => names.indexOf(one) < index)))
    problems.push(`the tool ${JSON.stringify(twice)} is declared twice`);
  const bytes = found.reduce((sum, tool) => sum + jsonSize(tool.inputSchema) + jsonSize(tool.outputSchema), 0);
  if (bytes > MOST_SCHEMAS)
    problems.push(`the schemas of its tools have ${bytes} characters, and at most ${MOST_SCHEMAS} are told`);
  if (problems.length === 0) problems.push(...(await uncompilable(found)));
  if (problems.length > 0) throw rejection('tools', 'Cannot offer its tools', problems);
  return found.sort((one, other) => (one.full_name < other.full_name ? -1 : 1));
}

/** Whether it declares a resource or a prompt, which are read by GET, and not a tool. */
export const isOffer = (declaration: unknown): declaration is Node =>
  isNode(declaration) && ('resource' in declaration || 'prompt' in declaration);

const sizes = new WeakMap<object, number>();

/** Characters of JSON; cached, since many tools share schemas. */
function jsonSize(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 5;
  const size = sizes.get(value) ?? JSON.stringify(value).length;
  sizes.set(value, size);
  return size;
}

/** The tool; a text: why it is not valid. */
function declared(document: OpenApi, path: string, operation: Node, installing: Installing): ToolDeclaration | string {
  const result = Declaration.safeParse(operation[EXTENSION]);
  if (!result.success) {
    const [issue] = result.error.issues;
    return `${[EXTENSION, ...(issue?.path ?? [])].join('.')} ${issue?.message ?? 'is invalid'}`;
  }
  const { name, annotations = {} } = result.data;
  const full_name = `${installing.name}_${name}`;
  if (!FULL_NAME.test(full_name)) return `the tool "${full_name.slice(0, 100)}" has a name of more than 64 characters`;
  if (full_name.startsWith('svc_')) return `the tool "${full_name}" begins with "svc_", as only ours do`;
  if (listed(operation.parameters) || listed(document.paths[path]?.parameters) || path.includes('{'))
    return 'a tool takes no parameters: everything stands in its body';
  const input = inputOf(document, operation.requestBody);
  if (typeof input === 'string') return input;
  const output = outputOf(document, operation.responses);
  if (typeof output === 'string') return output;
  const { summary, description } = operation as { summary?: string; description?: string };
  const toolDescription =
    [description, summary].find((text) => text !== undefined && text.trim() !== '') ?? `POST ${path}`;
  if (toolDescription.length > MOST_DESCRIPTION)
    return `a tool's description has at most ${MOST_DESCRIPTION} characters`;
  return {
    name,
    full_name,
    title: summary ?? name,
    description: toolDescription,
    inputSchema: input,
    outputSchema: output,
    annotations: {
      ...Object.fromEntries(Object.entries(annotations).filter(([, hint]) => hint !== undefined)),
      ...(installing.isolation === 'remote' ? { openWorldHint: true } : {}),
    },
    path,
  };
}

const listed = (parameters: unknown) => Array.isArray(parameters) && parameters.length > 0;

function inputOf(document: OpenApi, body: unknown): ToolSchema | string {
  if (!isNode(body) || '$ref' in body) return 'a tool has a request body that is written out where it is asked';
  if (body.required !== true) return 'the body of a tool is required ("required": true)';
  const schema = isNode(body.content) ? body.content['application/json'] : undefined;
  if (!isNode(schema)) return 'the body of a tool is application/json';
  return standalone(document, [schema.schema], 'body');
}

function outputOf(document: OpenApi, responses: unknown): ToolSchema | string {
  const good = Object.entries(isNode(responses) ? responses : {}).filter(([status]) => /^2/.test(status));
  if (good.length === 0) return 'a tool has an answer that says it went well (2xx)';
  const schemas: unknown[] = [];
  for (const [status, answer] of good) {
    if (!isNode(answer) || '$ref' in answer) return `its answer ${status} has to be written out where it is given`;
    const { content } = answer;
    const media = isNode(content) ? content['application/json'] : undefined;
    if (!isNode(content) || !isNode(media) || Object.keys(content).length > 1)
      return `its answer ${status} has to be application/json and nothing else`;
    schemas.push(media.schema);
  }
  return standalone(document, schemas, 'answer');
}

/** Combines several schemas into one that accepts each of them, with what they refer to under `$defs`. */
function standalone(document: OpenApi, schemas: readonly unknown[], what: string): ToolSchema | string {
  const heads = schemas.map((schema) => (isObjectSchema(document, schema) ? headOf(document, schema) : null));
  const tooLarge = `the schema of a tool's ${what}, with what it refers to, has more than ${MOST_SCHEMA} characters`;
  const defs = new Map<string, unknown>();
  const taken = new Map<string, string>(); // target of a reference → its name under $defs
  let size = 0;
  for (const head of heads) {
    if (!head) return `the schema of a tool's ${what} has "type": "object"`;
    size += jsonSize(head);
  }
  if (size > MOST_SCHEMA) return tooLarge;
  const bundled = (schema: unknown): Node =>
    changed(schema, 'schema', (node) => {
      const { discriminator: _, xml: __, externalDocs: ___, example: ____, $ref, ...rest } = node;
      return typeof $ref === 'string' ? { ...rest, $ref: bundledReference($ref) } : rest;
    }) as Node;
  const bundledReference = (reference: string): string => {
    const parts = pointerParts(reference) ?? [];
    const named = parts[0] === 'components' && parts[1] === 'schemas';
    const root = named ? parts.slice(0, 3) : parts;
    const key = root.join('/');
    let name = taken.get(key);
    if (name === undefined) {
      name = named ? (root[2] ?? '') : `at_${taken.size}`;
      while ([...taken.values()].includes(name)) name = `${name}_`;
      taken.set(key, name);
      const target = valueAtPointer(document, root);
      size += jsonSize(target);
      if (size <= MOST_SCHEMA) defs.set(name, isNode(target) ? bundled(target) : target);
    }
    return pointerOf(['$defs', name, ...parts.slice(root.length)]);
  };
  const [first = {}, ...others] = heads.map((head) => {
    const { $defs: _, ...root } = bundled(head); // a reference into it gets an entry of its own under $defs
    return root;
  });
  const schema: Node = others.length === 0 ? first : { type: 'object', anyOf: [first, ...others] };
  const whole = { ...schema, type: 'object' as const, ...(defs.size > 0 ? { $defs: Object.fromEntries(defs) } : {}) };
  return size > MOST_SCHEMA ? tooLarge : whole;
}

/** By its own `type`, by its reference, or by a part of its `allOf`. References are known to end: that was checked before. */
function isObjectSchema(document: OpenApi, schema: unknown): boolean {
  if (!isNode(schema)) return false;
  if (schema.type !== undefined) return schema.type === 'object';
  if (Array.isArray(schema.allOf) && schema.allOf.some((part) => isObjectSchema(document, part))) return true;
  return (
    typeof schema.$ref === 'string' &&
    isObjectSchema(document, valueAtPointer(document, pointerParts(schema.$ref) ?? []))
  );
}

/** The schema behind references that have only text beside them. */
function headOf(document: OpenApi, schema: unknown): Node | null {
  if (!isNode(schema)) return null;
  const { $ref, title, description, ...rest } = schema;
  if (typeof $ref !== 'string' || Object.keys(rest).length > 0) return schema;
  return headOf(document, valueAtPointer(document, pointerParts($ref) ?? []));
}

/** Clients compile a tool's schemas before they call it, and some reject all tools for one that they cannot compile. */
async function uncompilable(tools: readonly ToolDeclaration[]): Promise<string[]> {
  if (tools.length === 0) return [];
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/sdk/validation/ajv');
  const validator = new AjvJsonSchemaValidator();
  return tools.flatMap(({ path, inputSchema, outputSchema }) =>
    Object.entries({ body: inputSchema, answer: outputSchema }).flatMap(([what, schema]) => {
      try {
        validator.getValidator(schema as never);
        return [];
      } catch (error) {
        return [`POST ${path}: the schema of its ${what} is none: ${(error as Error).message.slice(0, 200)}`];
      }
    }),
  );
}
