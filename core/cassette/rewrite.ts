/** How does a cassette's document read where it is mounted? Its paths are those of the read API, and so is who gets in. */
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

/** Where everything of an installation stands. */
export const mountOf = (installed: string): string => `/v1/cassettes/${installed}`;

const SECURITY = [{ bearer: [] }, {}];
const BEARER = { type: 'http', scheme: 'bearer', description: 'Asked for where the operator has set one' } as const;

type Mounting = {
  /** Installed name. */
  name: string;
  /** What stands before everything of its own: `/api/search`. */
  prefix: string;
  /** Made for the operations that have none, by method and path. */
  ids: ReadonlyMap<string, string>;
};

/** Which operation: the key of `ids`. */
export const operationKey = (method: string, path: string): string => `${method} ${path}`;

/**
 * Names stay as the cassette has them. Servers and its own security are left out: it is asked through us, and we say who gets in.
 * Paths that are not below the prefix are left out too; what is wrong about those was said before.
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
    (node, kind) => ours(node, kind, moved),
  ) as OpenApi;
}

function ours(node: Node, kind: ShapeKind, moved: (reference: string) => string): Node {
  const { $ref, ...rest } = node;
  const referring = typeof $ref === 'string' ? { $ref: moved($ref), ...rest } : node;
  switch (kind) {
    case 'operation': {
      const { servers: _, security: __, ...operation } = referring;
      return operation;
    }
    case 'pathItem': {
      const { servers: _, ...item } = referring;
      return item;
    }
    case 'link': {
      const { server: _, operationRef, ...link } = referring;
      return typeof operationRef === 'string' ? { ...link, operationRef: moved(operationRef) } : link;
    }
    default:
      return referring;
  }
}

/** By whole segments: `/api/search` and what follows a slash. */
export const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

const mountedPath = (path: string, prefix: string, name: string) => `${mountOf(name)}${path.slice(prefix.length)}`;

function movedReference(reference: string, prefix: string, name: string): string {
  const parts = pointerParts(reference);
  const [root, path, ...rest] = parts ?? [];
  return root === 'paths' && path !== undefined && isBelow(path, prefix)
    ? pointerOf([root, mountedPath(path, prefix, name), ...rest])
    : reference;
}
