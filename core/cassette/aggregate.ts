/** What does the read API promise with the cassettes that are in? Its own document and theirs as one, none taking another's names. */
import { headersOfEvery } from '../http/answers.ts';
import type { Document } from '../http/contract.ts';
import { PROBLEM_TYPE, problemOf } from '../http/problem.ts';
import {
  changed,
  isNode,
  METHODS,
  type Node,
  type OpenApi,
  pointerOf,
  pointerParts,
  type ShapeKind,
  standsAt,
  visit,
} from './openapi-shape.ts';

/** What is served under an installed name: `document` of a CassetteDocument. */
export type Part = { name: string; document: OpenApi };

/**
 * Paths are as the cassettes' own documents have them. Names of components and operations get `<installed name>_` before them,
 * with _ for -. What a document says of itself is left out, and who gets in is ours to say.
 */
export function aggregate(core: Document, parts: readonly Part[]): Document {
  const whole = structuredClone(core) as unknown as OpenApi & { components: Record<string, Node>; tags?: Node[] };
  const ids = new Set(operationsIn(whole).map((operation) => String(operation.operationId)));
  const sorted = [...parts].sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const { name, document } of sorted) {
    const tag = `cassette: ${name}`;
    const between = answersBetween(name, whole);
    const naming = { tag, names: componentNames(name, document, whole.components), ids: idsOf(name, document, ids) };
    const { paths, components = {} } = changed(document, 'document', (node, kind) =>
      named(node, kind, naming),
    ) as OpenApi & { components?: Node };
    for (const [path, item] of Object.entries(paths)) whole.paths[path] ??= answeredByUs(item, between);
    for (const [section, held] of Object.entries(components)) {
      if (section === 'securitySchemes' || !isNode(held)) continue;
      const theirs = Object.entries(held).map(([key, value]) => [naming.names.get(`${section} ${key}`) ?? key, value]);
      const named = Object.fromEntries(theirs) as Record<string, Node>;
      whole.components[section] = {
        ...whole.components[section],
        ...(section === 'responses' ? withHeaders(named) : named),
      };
    }
    const { title, description } = (document.info ?? {}) as { title?: string; description?: string };
    whole.tags = [...(whole.tags ?? []), { name: tag, description: description ?? title ?? name }];
  }
  return whole as unknown as Document;
}

const prefixOf = (name: string) => `${name.replaceAll('-', '_')}_`;

/** `a` with `b_C` and `a-b` with `C` would meet; the one that comes later gets a _ more. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  while (taken.has(free)) free = `${free}_`;
  taken.add(free);
  return free;
}

/** By `<section> <name>`. */
function componentNames(
  name: string,
  { components }: OpenApi & { components?: unknown },
  ours: Node,
): Map<string, string> {
  const sections = Object.entries(isNode(components) ? components : {});
  return new Map(
    sections.flatMap(([section, held]) => {
      const taken = new Set(Object.keys(ours[section] ?? {}));
      return Object.keys(isNode(held) ? held : {}).map((key): [string, string] => [
        `${section} ${key}`,
        freeName(`${prefixOf(name)}${key}`, taken),
      ]);
    }),
  );
}

/** Those of callbacks too, which may have none. */
function idsOf(name: string, document: OpenApi, taken: Set<string>): Map<string, string> {
  const ids = new Map<string, string>();
  visit(document, 'document', ({ operationId }, kind) => {
    if (kind === 'operation' && typeof operationId === 'string')
      ids.set(operationId, freeName(`${prefixOf(name)}${operationId}`, taken));
  });
  return ids;
}

type Naming = { tag: string; names: ReadonlyMap<string, string>; ids: ReadonlyMap<string, string> };

function named(node: Node, kind: ShapeKind, { tag, names, ids }: Naming): Node {
  const { $ref, ...rest } = node;
  const referring = typeof $ref === 'string' && kind !== 'plain' ? { $ref: renamed($ref, names), ...rest } : node;
  const { operationId, operationRef } = referring;
  const called = typeof operationId === 'string' ? { operationId: ids.get(operationId) ?? operationId } : {};
  switch (kind) {
    case 'operation':
      return { ...referring, tags: [tag], ...called };
    case 'link':
      return {
        ...referring,
        ...called,
        ...(typeof operationRef === 'string' ? { operationRef: renamed(operationRef, names) } : {}),
      };
    case 'schema':
      return isNode(referring.discriminator) ? { ...referring, discriminator: telling(node, names) } : referring;
    default:
      return referring;
  }
}

function renamed(reference: string, names: ReadonlyMap<string, string>): string {
  const parts = pointerParts(reference);
  const [root, section, name, ...rest] = parts ?? [];
  const now = names.get(`${section} ${name}`);
  return root === 'components' && section && now ? pointerOf([root, section, now, ...rest]) : reference;
}

/** A discriminator's values are the names of schemas where it maps none, and those are other names now. */
function telling({ discriminator, oneOf, anyOf }: Node, names: ReadonlyMap<string, string>): Node {
  const { mapping = {}, ...rest } = discriminator as Node & { mapping?: Record<string, unknown> };
  const given = Object.entries(mapping).map(([value, leads]): [string, unknown] => {
    const now = names.get(`schemas ${String(leads)}`);
    return [value, now === undefined ? renamed(String(leads), names) : pointerOf(['components', 'schemas', now])];
  });
  const known = new Set(given.map(([, leads]) => leads));
  const implied = [oneOf, anyOf]
    .flatMap((choices) => (Array.isArray(choices) ? (choices as unknown[]) : []))
    .flatMap((choice): [string, unknown][] => {
      const parts = isNode(choice) && typeof choice.$ref === 'string' ? pointerParts(choice.$ref) : null;
      const leads = isNode(choice) && typeof choice.$ref === 'string' ? renamed(choice.$ref, names) : '';
      return parts?.[1] === 'schemas' && parts[2] && !known.has(leads) ? [[parts[2], leads]] : [];
    });
  const all = Object.fromEntries([...implied, ...given]);
  return Object.keys(all).length > 0 ? { ...rest, mapping: all } : rest;
}

/** What the way to a cassette adds to what every route of ours can answer: description, and how it reads by code and sentence. */
const BETWEEN: Readonly<Record<string, readonly [description: string, code: string, sentence: string]>> = {
  413: [
    'The body is larger than what is passed on',
    'body-too-large',
    'Cannot take the body: a cassette gets at most 32 MiB',
  ],
  502: [
    'The cassette failed over the request',
    'cassette-broken',
    'Cannot answer: the cassette "{name}" failed over this request',
  ],
  503: [
    'The cassette is not there now; ask again',
    'cassette-unavailable',
    'Cannot answer: the cassette "{name}" is not there now',
  ],
  504: ['The cassette did not answer in time', 'cassette-late', 'Cannot answer: the cassette "{name}" took too long'],
};

/** Those of its own route for contracts that a cassette's route has too. */
const SHARED = ['400', '401', '403', '408', '431', '500'];
const OWN_ROUTE = '/v1/cassettes/{name}/openapi.json';
const REQUEST_ID = '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11';

function answersBetween(name: string, core: OpenApi): Record<string, Node> {
  const own = standsAt(core, ['paths', OWN_ROUTE, 'get', 'responses']);
  const ours = (status: string) => resolved(core, isNode(own) ? own[status] : undefined);
  const { 'retry-after': again, ...headers } = (ours('503').headers ?? {}) as Node;
  const told = Object.entries(BETWEEN).map(([status, [description, code, sentence]]) => {
    const example = problemOf(Number(status), code, sentence.replace('{name}', name), REQUEST_ID);
    const media = { schema: { $ref: '#/components/schemas/Problem' }, example };
    const its = again && status === '503' ? { ...headers, 'retry-after': again } : headers;
    return [status, { description, headers: its, content: { [PROBLEM_TYPE]: media } }];
  });
  const shared = SHARED.map((status) => [status, ours(status)] as const).filter(
    ([, answer]) => 'description' in answer,
  );
  return Object.fromEntries([...shared, ...told]);
}

const resolved = (document: OpenApi, node: unknown): Node => {
  const found =
    isNode(node) && typeof node.$ref === 'string' ? standsAt(document, pointerParts(node.$ref) ?? []) : node;
  return isNode(found) ? found : {};
};

/** A cassette's own words for a status stay; ours can come all the same. */
function answeredByUs(item: Node, between: Readonly<Record<string, Node>>): Node {
  const operations = METHODS.filter((method) => isNode(item[method])).map((method) => {
    const operation = item[method] as Node & { responses: Record<string, Node> };
    const responses = Object.entries(between).map(([status, ours]): [string, Node] => {
      const theirs = operation.responses[status];
      if (!theirs || '$ref' in theirs) return [status, theirs ?? ours];
      return [status, { ...theirs, content: { ...(ours.content as Node), ...(theirs.content as Node) } }];
    });
    const told: Record<string, Node> = { ...operation.responses, ...Object.fromEntries(responses) };
    return [method, { ...operation, responses: withHeaders(told) }];
  });
  return { ...item, ...Object.fromEntries(operations) };
}

/** What the mount says with every answer that came from the cassette; absent where it was not asked. */
const MOUNTED = {
  'x-svc-cassette': { description: 'Who answered', schema: { type: 'string' } },
  'content-security-policy': {
    description: 'For browsers: its pages stand in an origin of their own',
    schema: { type: 'string' },
  },
};

/** The listener's own come with every answer as well, whoever made it. */
const withHeaders = (responses: Readonly<Record<string, Node>>): Record<string, Node> =>
  Object.fromEntries(
    Object.entries(responses).map(([status, answer]) => [
      status,
      '$ref' in answer
        ? answer
        : { ...answer, headers: { ...headersOfEvery('200'), ...MOUNTED, ...(answer.headers as Node | undefined) } },
    ]),
  );

const operationsIn = ({ paths }: OpenApi): Node[] =>
  Object.values(paths).flatMap((item) => METHODS.flatMap((method) => (isNode(item[method]) ? [item[method]] : [])));
