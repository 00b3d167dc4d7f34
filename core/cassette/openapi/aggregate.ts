/** Joins the OpenAPI document of the read API with those of the admitted cassettes into one, in which no names collide. */

import type { Document } from '../../http/contract.ts';
import { headersOfEvery } from '../../http/contract-responses.ts';
import { PROBLEM_TYPE, problemOf } from '../../http/problem.ts';
import {
  changed,
  isExtension,
  isNode,
  METHODS,
  mapped,
  type Node,
  type OpenApi,
  pointerOf,
  pointerParts,
  type ShapeKind,
  valueAtPointer,
  visit,
} from './openapi-shape.ts';

/** The document that is served under an installed name: `document` of a CassetteDocument. */
export type Part = { name: string; document: OpenApi };

/**
 * Paths are those of the cassettes' documents. Names of components and operations get the prefix `<installed name>_`, with _ for -.
 * The `info` of a cassette's document is left out, and so is its security: the read API decides who gets in.
 * @param onLeftOut called with the installed name and the error where a part cannot be joined; the others are joined without it
 */
export function aggregate(
  core: Document,
  parts: readonly Part[],
  onLeftOut: (name: string, error: unknown) => void = (_name, error) => {
    throw error;
  },
): Document {
  const document = core as unknown as WholeDocument;
  let whole: Whole = { document, ids: new Set(operationsIn(document).map(({ operationId }) => String(operationId))) };
  const sorted = [...parts].sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const part of sorted) {
    try {
      whole = withPart(whole, part);
    } catch (error) {
      onLeftOut(part.name, error); // `whole` is as it was before this part
    }
  }
  return whole.document as unknown as Document;
}

type WholeDocument = OpenApi & { components: Record<string, Node>; tags?: Node[] };
/** `ids`: the operation ids in it. Neither is changed: each part makes new ones. */
type Whole = { document: WholeDocument; ids: ReadonlySet<string> };

function withPart({ document: whole, ids }: Whole, { name, document }: Part): Whole {
  const tag = `cassette: ${name}`;
  const allIds = new Set(ids);
  const naming = { tag, names: componentNames(name, document, whole.components), ids: idsOf(name, document, allIds) };
  const { paths, components = {} } = changed(document, 'document', (node, kind) =>
    named(node, kind, naming),
  ) as OpenApi & { components?: Node };
  const mountResponses = responsesOfMount(name, whole);
  const mounted = mapped(paths, (item) => withMountResponses(item as Node, mountResponses)) as OpenApi['paths'];
  const { title, description } = (document.info ?? {}) as { title?: string; description?: string };
  const joined = {
    ...whole,
    paths: { ...whole.paths, ...mounted, ...whole.paths }, // those of the whole stay first, and win
    components: { ...whole.components, ...sectionsOf(components, whole.components, naming.names) },
    tags: [...(whole.tags ?? []), { name: tag, description: description ?? title ?? name }],
  };
  return { document: joined, ids: allIds };
}

/** The sections of `components` to which the part adds, with its additions. */
function sectionsOf(
  components: Node,
  ours: Readonly<Record<string, Node>>,
  names: Naming['names'],
): Record<string, Node> {
  const sections = Object.entries(components).flatMap(([section, definitions]): [string, Node][] => {
    if (section === 'securitySchemes' || !isNode(definitions)) return [];
    const renamedEntries = Object.entries(definitions).map(([key, value]) => [
      names.get(`${section} ${key}`) ?? key,
      section === 'responses' ? withHeaders(value) : value,
    ]);
    return [[section, { ...ours[section], ...(Object.fromEntries(renamedEntries) as Node) }]];
  });
  return Object.fromEntries(sections);
}

const prefixOf = (name: string) => `${name.replaceAll('-', '_')}_`;

/** `a` with `b_C` and `a-b` with `C` would collide; the later one gets one more _. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  while (taken.has(free)) free = `${free}_`;
  taken.add(free);
  return free;
}

/** The new name of each component, by `<section> <name>`. */
function componentNames(
  name: string,
  { components }: OpenApi & { components?: unknown },
  ours: Node,
): Map<string, string> {
  const sections = Object.entries(isNode(components) ? components : {});
  return new Map(
    sections.flatMap(([section, definitions]) => {
      const taken = new Set(Object.keys(ours[section] ?? {}));
      return Object.keys(isNode(definitions) ? definitions : {}).map((key): [string, string] => [
        `${section} ${key}`,
        freeName(`${prefixOf(name)}${key}`, taken),
      ]);
    }),
  );
}

/** The new operation ids, those of callbacks included; a callback's operation may have none. */
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
  const updated = typeof $ref === 'string' && kind !== 'plain' ? { $ref: renamed($ref, names), ...rest } : node;
  const { operationId, operationRef } = updated;
  const renamedId = typeof operationId === 'string' ? { operationId: ids.get(operationId) ?? operationId } : {};
  switch (kind) {
    case 'operation':
      return { ...updated, tags: [tag], ...renamedId };
    case 'link':
      return {
        ...updated,
        ...renamedId,
        ...(typeof operationRef === 'string' ? { operationRef: renamed(operationRef, names) } : {}),
      };
    case 'schema':
      return isNode(updated.discriminator) ? { ...updated, discriminator: renamedDiscriminator(node, names) } : updated;
    default:
      return updated;
  }
}

function renamed(reference: string, names: ReadonlyMap<string, string>): string {
  const parts = pointerParts(reference);
  const [root, section, name, ...rest] = parts ?? [];
  const newName = names.get(`${section} ${name}`);
  return root === 'components' && section && newName ? pointerOf([root, section, newName, ...rest]) : reference;
}

/** A value that a discriminator does not map is the name of a schema; since schemas are renamed, each such value gets a mapping. */
function renamedDiscriminator({ discriminator, oneOf, anyOf }: Node, names: ReadonlyMap<string, string>): Node {
  const { mapping = {}, ...rest } = discriminator as Node & { mapping?: Record<string, unknown> };
  const explicit = Object.entries(mapping).map(([value, leads]): [string, unknown] => {
    const newName = names.get(`schemas ${String(leads)}`);
    return [
      value,
      newName === undefined ? renamed(String(leads), names) : pointerOf(['components', 'schemas', newName]),
    ];
  });
  const known = new Set(explicit.map(([, leads]) => leads));
  const implied = [oneOf, anyOf]
    .flatMap((choices) => (Array.isArray(choices) ? (choices as unknown[]) : []))
    .flatMap((choice): [string, unknown][] => {
      const parts = isNode(choice) && typeof choice.$ref === 'string' ? pointerParts(choice.$ref) : null;
      const leads = isNode(choice) && typeof choice.$ref === 'string' ? renamed(choice.$ref, names) : '';
      return parts?.[1] === 'schemas' && parts[2] && !known.has(leads) ? [[parts[2], leads]] : [];
    });
  const all = Object.fromEntries([...implied, ...explicit]);
  return Object.keys(all).length > 0 ? { ...rest, mapping: all } : rest;
}

/** Responses that the mount adds to those of every route of ours, by status: description, error code and message. */
const MOUNT_RESPONSES: Readonly<Record<string, readonly [description: string, code: string, sentence: string]>> = {
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

/** Responses of the route for contracts that a cassette's routes have too. */
const SHARED = ['400', '401', '403', '408', '431', '500'];
const OWN_ROUTE = '/v1/cassettes/{name}/openapi.json';
const REQUEST_ID = '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11';

function responsesOfMount(name: string, core: OpenApi): Record<string, Node> {
  const own = valueAtPointer(core, ['paths', OWN_ROUTE, 'get', 'responses']);
  const coreResponse = (status: string) => resolved(core, isNode(own) ? own[status] : undefined);
  const { 'retry-after': retryAfter, ...headers } = (coreResponse('503').headers ?? {}) as Node;
  const added = Object.entries(MOUNT_RESPONSES).map(([status, [description, code, sentence]]) => {
    const example = problemOf(Number(status), code, sentence.replace('{name}', name), REQUEST_ID);
    const media = { schema: { $ref: '#/components/schemas/Problem' }, example };
    const responseHeaders = retryAfter && status === '503' ? { ...headers, 'retry-after': retryAfter } : headers;
    return [status, { description, headers: responseHeaders, content: { [PROBLEM_TYPE]: media } }];
  });
  const shared = SHARED.map((status) => [status, coreResponse(status)] as const).filter(
    ([, answer]) => 'description' in answer,
  );
  return Object.fromEntries([...shared, ...added]);
}

const resolved = (document: OpenApi, node: unknown): Node => {
  const found =
    isNode(node) && typeof node.$ref === 'string' ? valueAtPointer(document, pointerParts(node.$ref) ?? []) : node;
  return isNode(found) ? found : {};
};

/** A response that the cassette documents stays; for the same status ours is added to its content. */
function withMountResponses(item: Node, mountResponses: Readonly<Record<string, Node>>): Node {
  const operations = METHODS.filter((method) => isNode(item[method])).map((method) => {
    const operation = item[method] as Node & { responses: Node };
    const responses = Object.entries(mountResponses).map(([status, mountResponse]): [string, Node] => {
      const declared = operation.responses[status] as Node | undefined;
      if (!declared || '$ref' in declared) return [status, declared ?? mountResponse];
      return [status, { ...declared, content: { ...(mountResponse.content as Node), ...(declared.content as Node) } }];
    });
    const allResponses: Node = { ...operation.responses, ...Object.fromEntries(responses) };
    const withOurs = mapped(allResponses, (response, key) => (isExtension(key) ? response : withHeaders(response)));
    return [method, { ...operation, responses: withOurs }];
  });
  return { ...item, ...Object.fromEntries(operations) };
}

/** Headers that the mount adds to every response of the cassette; absent where the request was not forwarded. */
const MOUNT_HEADERS = {
  'x-svc-cassette': { description: 'Who answered', schema: { type: 'string' } },
  'content-security-policy': {
    description: 'For browsers: its pages have an origin of their own',
    schema: { type: 'string' },
  },
};

/** Adds the listener's own headers, which every response has, whoever made it. A reference stays as it is. */
const withHeaders = (response: unknown): unknown =>
  !isNode(response) || '$ref' in response
    ? response
    : {
        ...response,
        headers: { ...headersOfEvery('200'), ...MOUNT_HEADERS, ...(response.headers as Node | undefined) },
      };

const operationsIn = ({ paths }: OpenApi): Node[] =>
  Object.values(paths).flatMap((item) => METHODS.flatMap((method) => (isNode(item[method]) ? [item[method]] : [])));
