/** Rewrites a cassette's document for where it is mounted: paths and security are those of the read API. */
import {
  changed,
  METHODS,
  mapped,
  type Node,
  type OpenApi,
  pointerOf,
  pointerParts,
  type ShapeKind,
} from './openapi-shape.ts';

/** The path below which an installation is mounted. */
export const mountOf = (installed: string): string => `/v1/cassettes/${installed}`;

const SECURITY = [{ bearer: [] }, {}];
const BEARER = { type: 'http', scheme: 'bearer', description: 'Asked for where the operator has set one' } as const;

type Mounting = {
  /** Installed name. */
  name: string;
  /** The prefix of the cassette's own paths: `/api/search`. */
  prefix: string;
  /** Operation ids made for operations without one, by method and path. */
  ids: ReadonlyMap<string, string>;
};

/** The key of an operation in `ids`. */
export const operationKey = (method: string, path: string): string => `${method} ${path}`;

/**
 * Names stay as the cassette has them. Its servers and security are left out: requests go through the read API, which decides who gets
 * in. Paths that are not below the prefix are left out too; the checks before this have reported them.
 */
export function rewritten(document: OpenApi, { name, prefix, ids }: Mounting): OpenApi {
  const below = Object.entries(document.paths).filter(([path]) => isBelow(path, prefix));
  const paths = Object.fromEntries(
    below.map(([path, item]) => [
      mountedPath(path, prefix, name),
      mapped(item, (value, key) =>
        (METHODS as readonly string[]).includes(key)
          ? { ...(value as Node), operationId: (value as Node).operationId ?? ids.get(operationKey(key, path)) }
          : value,
      ),
    ]),
  );
  const { servers: _, security: __, components = {}, ...rest } = document as OpenApi & { components?: Node };
  const { securitySchemes: ___, ...parts } = components;
  const moved = (reference: string) => movedReference(reference, prefix, name);
  return changed(
    { ...rest, security: SECURITY, paths, components: { ...parts, securitySchemes: { bearer: BEARER } } },
    'document',
    (node, kind) => mountedNode(node, kind, moved),
  ) as OpenApi;
}

function mountedNode(node: Node, kind: ShapeKind, moved: (reference: string) => string): Node {
  const { $ref, ...rest } = node;
  const updated = typeof $ref === 'string' ? { $ref: moved($ref), ...rest } : node;
  switch (kind) {
    case 'operation': {
      const { servers: _, security: __, ...operation } = updated;
      return operation;
    }
    case 'pathItem': {
      const { servers: _, ...item } = updated;
      return item;
    }
    case 'link': {
      const { server: _, operationRef, ...link } = updated;
      return typeof operationRef === 'string' ? { ...link, operationRef: moved(operationRef) } : link;
    }
    default:
      return updated;
  }
}

/** Compares whole segments: `/api/search` itself, and what follows it after a slash. */
export const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

const mountedPath = (path: string, prefix: string, name: string) => `${mountOf(name)}${path.slice(prefix.length)}`;

function movedReference(reference: string, prefix: string, name: string): string {
  const parts = pointerParts(reference);
  const [root, path, ...rest] = parts ?? [];
  return root === 'paths' && path !== undefined && isBelow(path, prefix)
    ? pointerOf([root, mountedPath(path, prefix, name), ...rest])
    : reference;
}
