/** Checks a cassette's OpenAPI document: all problems at once, by path and method; without problems, what was read from it. */

import { type DeclaredManifest, manifestDigest, ownPrefix, parseManifest } from '../admission/manifest.ts';
import { rejection } from '../admission/rejection.ts';
import { Rejection } from '../running.ts';
import { type Offers, offersOf } from './offers.ts';
import { isNode, METHODS, type Node, type OpenApi, type Path, placeOf, pointerParts, visit } from './openapi-shape.ts';
import { parametersOf } from './parameters-of.ts';
import { referenceProblems } from './references.ts';
import { isBelow, operationKey, rewritten } from './rewrite.ts';
import { schemaProblems } from './schema-problems.ts';
import { strictJson, UnreadableJson } from './strict-json.ts';
import { type Installing, type ToolDeclaration, toolDeclarations } from './tool-declarations.ts';

export type CheckedDocument = {
  manifest: DeclaredManifest;
  /** `sha256:<hex>` of the manifest in canonical JSON. */
  manifest_digest: string;
  /** The document as it is served: with the paths of the read API. */
  document: OpenApi;
  tools: readonly ToolDeclaration[];
} & Offers;

const MANIFEST = 'x-svc-cassette';
const MOST_OPERATIONS = 1000;

/** @throws {Rejection} manifest, openapi or tools */
export async function checkedDocument(text: string, { name, isolation }: Installing): Promise<CheckedDocument> {
  const root = parsed(text);
  if (!(MANIFEST in root))
    throw new Rejection(
      'manifest',
      `Cannot read the manifest: the OpenAPI document has no "${MANIFEST}" at its root; put the module's manifest there`,
    );
  const manifest = parseManifest(root[MANIFEST]);
  const prefix = ownPrefix(manifest);
  const document = withoutOwn(await valid(root), manifest, prefix);
  refuse([...pathProblems(document, prefix), ...operationProblems(document)]);
  refuse(schemaProblems(document));
  refuse(referenceProblems(document));
  refuse(parameterProblems(document));
  const tools = await toolDeclarations(document, { name, isolation });
  const offers = offersOf(document, { name, prefix });
  return {
    manifest,
    manifest_digest: manifestDigest(manifest),
    document: rewritten(document, { name, prefix, ids: missingIds(document, prefix) }),
    tools,
    ...offers,
  };
}

const LEAD = 'Cannot serve its OpenAPI document';

const refuse = (problems: readonly string[]): void => {
  if (problems.length > 0) throw rejection('openapi', LEAD, problems);
};

function parsed(text: string): Node {
  try {
    const root = strictJson(text.replace(/^\uFEFF/, '')); // a byte order mark may be ignored (RFC 8259, 8.1)
    if (isNode(root)) return root;
  } catch (error) {
    if (!(error instanceof UnreadableJson)) throw error;
    if (pointerParts(`#${error.pointer}`)?.[0] === MANIFEST)
      throw new Rejection('manifest', `Cannot read the manifest: ${error.message} at ${error.pointer}`);
    throw new Rejection('openapi', `${LEAD}: ${error.message}${error.pointer === '' ? '' : ` at ${error.pointer}`}`);
  }
  throw new Rejection('openapi', `${LEAD}: it is no JSON object`);
}

type Compiled = ((document: unknown) => boolean) & {
  errors?: { instancePath: string; message?: string; params?: unknown }[];
};
let byOpenApi: Promise<Compiled> | null = null;

/** Loaded with the first document, since it takes a moment that would delay the start. */
const openApiCheck = (): Promise<Compiled> => {
  byOpenApi ??= import('@seriousme/openapi-schema-validator').then(({ Validator }) => {
    // the first step of its `validate`; the other steps mistake examples for references
    const validator = new Validator() as unknown as { getAjvValidator(version: string): Compiled };
    return validator.getAjvValidator('3.1');
  });
  return byOpenApi;
};

async function valid(root: Node): Promise<OpenApi> {
  const { openapi } = root;
  if (typeof openapi !== 'string' || !/^3\.1\.\d+(?:-.+)?$/.test(openapi)) {
    const found = typeof openapi === 'string' ? JSON.stringify(openapi.slice(0, 20)) : 'none';
    throw new Rejection('openapi', `${LEAD}: "openapi" must be 3.1, for example "3.1.0", and is ${found}`);
  }
  const dialect = root.jsonSchemaDialect;
  if (
    dialect !== undefined &&
    !/^https:\/\/(?:spec\.openapis\.org\/oas\/3\.1\/|json-schema\.org\/draft\/2020-12\/)/.test(String(dialect))
  )
    throw new Rejection(
      'openapi',
      `${LEAD}: its schemas must be JSON Schema 2020-12, so leave "jsonSchemaDialect" out`,
    );
  const check = await openApiCheck();
  if (!check(root)) {
    const { instancePath = '', message = 'is invalid', params } = check.errors?.[0] ?? {};
    const extra = isNode(params) ? (params.unevaluatedProperty ?? params.additionalProperty) : undefined;
    const where = placeOf(pointerParts(`#${instancePath}`) ?? []);
    throw new Rejection(
      'openapi',
      `${LEAD}: it is no valid OpenAPI 3.1; ${where}: ${message}${typeof extra === 'string' ? ` ("${extra.slice(0, 100)}" is none)` : ''}`,
    );
  }
  return { ...root, paths: isNode(root.paths) ? root.paths : {} } as OpenApi;
}

/** Without the paths of health and document, which only the service calls, unless they are below the cassette's own prefix. */
const withoutOwn = (document: OpenApi, { api }: DeclaredManifest, prefix: string): OpenApi => ({
  ...document,
  paths: Object.fromEntries(
    Object.entries(document.paths).filter(
      ([path]) => !path.startsWith('x-') && (isBelow(path, prefix) || (path !== api.health && path !== api.openapi)),
    ),
  ),
});

const SEGMENT = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|\{[A-Za-z0-9_.-]+\})*$/;

function pathProblems({ paths }: OpenApi, prefix: string): string[] {
  const shapes = new Map<string, string>();
  return Object.keys(paths).flatMap((path) => {
    const shown = path.slice(0, 200);
    const segments = path.split('/').slice(1);
    if (/%/.test(path)) return [`${shown}: its path has a percent escape; write the characters out`];
    if (segments.some((segment) => segment === '.' || segment === '..'))
      return [`${shown}: its path has a "." or ".." segment`];
    if (path.includes('//') || !segments.every((segment) => SEGMENT.test(segment)))
      return [`${shown}: its path has an empty segment, or characters that a path cannot have`];
    if (!isBelow(path, prefix)) return [`${shown}: it is not below ${prefix}, which is all that a cassette serves`];
    if (path === `${prefix}/openapi.json`)
      return [`${shown}: where it is mounted, its document is served there; take another path`];
    const shape = path.replaceAll(/\{[^{}]*\}/g, '{}');
    const same = shapes.get(shape);
    shapes.set(shape, path);
    return same === undefined ? [] : [`${shown}: it is the same path as ${same.slice(0, 200)}`];
  });
}

function operationProblems(document: OpenApi): string[] {
  const problems: string[] = [];
  const ids = new Map<string, Path>();
  let count = 0;
  visit(document, 'document', (node, kind, path) => {
    if (kind !== 'operation') return;
    count++;
    const { operationId, responses } = node;
    const where = placeOf(path);
    if (!isNode(responses) || !Object.keys(responses).some((status) => !status.startsWith('x-')))
      problems.push(`${where}: it declares no response`);
    if (path.at(-1) === 'trace' && path.length === 3) problems.push(`${where}: TRACE is not passed on`);
    if (typeof operationId !== 'string') return;
    const other = ids.get(operationId);
    if (other) problems.push(`${where}: its operationId "${operationId.slice(0, 100)}" is that of ${placeOf(other)}`);
    if (!/^[A-Za-z0-9_.-]{1,200}$/.test(operationId))
      problems.push(`${where}: its operationId must be 1 to 200 of A-Z, a-z, 0-9, _, . and -`);
    ids.set(operationId, path);
  });
  if (count > MOST_OPERATIONS)
    problems.unshift(`it has ${count} operations, and at most ${MOST_OPERATIONS} are served of a cassette`);
  return problems;
}

/** Each path parameter in braces must be declared exactly once, and no others may be. */
function parameterProblems(document: OpenApi): string[] {
  return Object.entries(document.paths).flatMap(([path, item]) => {
    const placeholders = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name ?? '');
    const shared = parametersOf(document, item);
    return METHODS.filter((method) => method in item).flatMap((method) => {
      const own = parametersOf(document, item[method] as Node);
      const all = new Map([...shared, ...own].map((one) => [`${one.in} ${String(one.name)}`, one]));
      const where = placeOf(['paths', path, method]);
      const twice = [shared, own].some(
        (list) => new Set(list.map((one) => `${one.in} ${one.name}`)).size < list.length,
      );
      return [
        ...(twice ? [`${where}: it declares a parameter twice`] : []),
        ...placeholders
          .filter((name) => !all.has(`path ${name}`))
          .map((name) => `${where}: it does not declare its parameter {${name}}`),
        ...[...all.values()]
          .filter((one) => one.in === 'path' && !placeholders.includes(String(one.name)))
          .map((one) => `${where}: its path has no {${String(one.name)}}`),
      ];
    });
  });
}

/** `get_items_by_id`, for operations that have no id of their own. */
function missingIds({ paths }: OpenApi, prefix: string): Map<string, string> {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({ method, path, operation: item[method] as Node })),
  );
  const taken = new Set(operations.map(({ operation }) => operation.operationId));
  return new Map(
    operations
      .filter(({ operation }) => operation.operationId === undefined)
      .map(({ method, path }) => {
        const words = path
          .slice(prefix.length)
          .replaceAll('{', 'by_')
          .split(/[^A-Za-z0-9_]+/)
          .filter(Boolean);
        let id = [method, ...words].join('_').slice(0, 180);
        while (taken.has(id)) id = `${id}_`;
        taken.add(id);
        return [operationKey(method, path), id];
      }),
  );
}
