/** The structure of an OpenAPI 3.1 document: tells references and names from examples that only look like them. */

export type Node = { [key: string]: unknown };
export type OpenApi = Node & { openapi: string; paths: { [path: string]: Node } };

export type ShapeKind =
  | 'document'
  | 'components'
  | 'pathItem'
  | 'operation'
  | 'parameter'
  | 'header'
  | 'requestBody'
  | 'response'
  | 'media'
  | 'encoding'
  | 'callback'
  | 'schema'
  | 'link'
  | 'example'
  | 'securityScheme'
  | 'plain';
/** `named`: a map with arbitrary names; `fields`: a map in which names with `x-` are extensions. */
type Child = { kind: ShapeKind; holds: 'one' | 'list' | 'named' | 'fields' };

export const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

const one = (kind: ShapeKind): Child => ({ kind, holds: 'one' });
const list = (kind: ShapeKind): Child => ({ kind, holds: 'list' });
const map = (kind: ShapeKind): Child => ({ kind, holds: 'named' });
const fields = (kind: ShapeKind): Child => ({ kind, holds: 'fields' });
const each = (keys: readonly string[], child: Child) => Object.fromEntries(keys.map((key) => [key, child]));

/** Members that are not listed hold values, text or extensions. `*`: any member but extensions. */
const SHAPE: Readonly<Record<ShapeKind, Readonly<Record<string, Child>>>> = {
  document: {
    paths: fields('pathItem'),
    webhooks: fields('pathItem'),
    components: one('components'),
    info: one('plain'),
  },
  components: {
    schemas: map('schema'),
    responses: map('response'),
    parameters: map('parameter'),
    examples: map('example'),
    requestBodies: map('requestBody'),
    headers: map('header'),
    securitySchemes: map('securityScheme'),
    links: map('link'),
    callbacks: map('callback'),
    pathItems: map('pathItem'),
  },
  pathItem: { parameters: list('parameter'), ...each(METHODS, one('operation')) },
  operation: {
    parameters: list('parameter'),
    requestBody: one('requestBody'),
    responses: fields('response'),
    callbacks: map('callback'),
  },
  parameter: { schema: one('schema'), content: map('media'), examples: map('example') },
  header: { schema: one('schema'), content: map('media'), examples: map('example') },
  requestBody: { content: map('media') },
  response: { headers: map('header'), content: map('media'), links: map('link') },
  media: { schema: one('schema'), examples: map('example'), encoding: map('encoding') },
  encoding: { headers: map('header') },
  callback: { '*': one('pathItem') },
  schema: {
    ...each(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'], map('schema')),
    ...each(['allOf', 'anyOf', 'oneOf', 'prefixItems'], list('schema')),
    ...each(['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'propertyNames'], one('schema')),
    ...each(['unevaluatedItems', 'unevaluatedProperties', 'contentSchema'], one('schema')),
  },
  link: {},
  example: {},
  securityScheme: {},
  plain: {},
};

/** The section of `components` that a reference from such an object may lead to. */
export const SECTION: Readonly<Partial<Record<ShapeKind, string>>> = {
  schema: 'schemas',
  response: 'responses',
  parameter: 'parameters',
  example: 'examples',
  requestBody: 'requestBodies',
  header: 'headers',
  securityScheme: 'securitySchemes',
  link: 'links',
  callback: 'callbacks',
  pathItem: 'pathItems',
};

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const childOf = (kind: ShapeKind, key: string): Child | undefined => {
  const shape = SHAPE[kind];
  if (Object.hasOwn(shape, key)) return shape[key];
  return isExtension(key) ? undefined : shape['*'];
};

/** Where names are fixed or are paths or statuses; in a map with arbitrary names `x-` is a name like any other. */
export const isExtension = (key: string): boolean => key.startsWith('x-');

export type Path = readonly (string | number)[];

/** Visits every object of the document to which OpenAPI gives a meaning, outer ones first. */
export function visit(
  node: unknown,
  kind: ShapeKind,
  visitor: (node: Node, kind: ShapeKind, path: Path) => void,
  path: Path = [],
): void {
  if (!isNode(node)) return;
  visitor(node, kind, path);
  for (const [key, value] of Object.entries(node)) {
    const child = childOf(kind, key);
    if (!child) continue;
    for (const [location, childNode] of childrenOf(child, value))
      visit(childNode, child.kind, visitor, [...path, key, ...location]);
  }
}

function childrenOf({ holds }: Child, value: unknown): [place: Path, held: unknown][] {
  if (holds === 'one') return [[[], value]];
  if (holds === 'list') return Array.isArray(value) ? value.map((held, index) => [[index], held]) : [];
  if (!isNode(value)) return [];
  return Object.entries(value)
    .filter(([key]) => holds === 'named' || !isExtension(key))
    .map(([key, held]) => [[key], held]);
}

/** The document with each such object replaced, outer ones first: `change` gets the original, and its result is walked further. */
export function changed(node: unknown, kind: ShapeKind, change: (node: Node, kind: ShapeKind) => Node): unknown {
  if (!isNode(node)) return node;
  return mapped(change(node, kind), (value, key) => {
    const child = childOf(kind, key);
    if (!child) return value;
    const into = (held: unknown) => changed(held, child.kind, change);
    if (child.holds === 'one') return into(value);
    if (child.holds === 'list') return Array.isArray(value) ? value.map(into) : value;
    if (!isNode(value)) return value;
    return mapped(value, (held, name) => (child.holds === 'fields' && isExtension(name) ? held : into(held)));
  });
}

export const mapped = (node: Node, map: (value: unknown, key: string) => unknown): Node =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, map(value, key)]));

/** `#/components/schemas/A~1B` as its parts; null: it leads out of the document, or is no JSON Pointer. */
export function pointerParts(reference: string): string[] | null {
  if (!reference.startsWith('#/')) return null;
  try {
    return decodeURIComponent(reference.slice(2))
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    return null; // a broken percent escape
  }
}

export const pointerOf = (parts: readonly string[]): string =>
  `#/${parts.map((part) => encodeURI(part.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('#', '%23')).join('/')}`;

/** The value at that path; undefined: there is none. */
export function valueAtPointer(document: unknown, parts: readonly string[]): unknown {
  let at: unknown = document;
  for (const part of parts) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Node)[part];
  }
  return at;
}

/** For people: `POST /api/search/spans, responses.200`. */
export function placeOf(path: Path): string {
  const [root, route, method, ...rest] = path.map(String);
  if (root !== 'paths' || route === undefined) return path.length === 0 ? 'its root' : path.join('.');
  if (method === undefined || !(METHODS as readonly string[]).includes(method))
    return [route, [method, ...rest].filter((part) => part !== undefined).join('.')]
      .filter((part) => part !== '')
      .join(', ');
  return [`${method.toUpperCase()} ${route}`, rest.join('.')].filter((part) => part !== '').join(', ');
}
