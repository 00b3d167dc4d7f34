/** Checks the references of an OpenAPI document: each leads to something within the document, and none leads in a circle. */
import {
  isNode,
  type Node,
  type OpenApi,
  type Path,
  placeOf,
  pointerParts,
  SECTION,
  type ShapeKind,
  valueAtPointer,
  visit,
} from './openapi-shape.ts';

/** Every reference that leads nowhere, or in an endless circle. Recursion through members and items is fine. */
export function referenceProblems(document: OpenApi): string[] {
  const problems: string[] = [];
  const references = new Map<Node, Path>();
  visit(document, 'document', (node, kind, path) => {
    const wrong = (what: string) => problems.push(`${placeOf(path)}: ${what}`);
    for (const keyword of kind === 'schema' ? REBASING : [])
      if (keyword in node)
        wrong(
          `has ${keyword}; name the schema under components.schemas and refer to it by "#/components/schemas/<name>"`,
        );
    const reference = kind === 'link' ? (node.$ref ?? node.operationRef) : node.$ref;
    if (reference === undefined || kind === 'plain') return;
    if (kind === 'pathItem') return void wrong('refers to a path item; write it out');
    if (!(kind in SECTION)) return;
    const problem = problemOf(document, reference, kind, node.$ref !== undefined);
    if (problem) wrong(problem);
    else references.set(node, path);
  });
  if (problems.length > 0) return problems;
  return [...references].flatMap(([node, path]) =>
    isCircular(document, node) ? [`${placeOf(path)}: refers in a circle`] : [],
  );
}

/** Keywords that change the base against which references in and around them are resolved. */
const REBASING = ['$id', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor'];

function problemOf(document: OpenApi, reference: unknown, kind: ShapeKind, named: boolean): string | null {
  if (typeof reference !== 'string') return 'has a reference that is no text';
  const shown = JSON.stringify(reference.slice(0, 200));
  const parts = pointerParts(reference);
  if (!parts) return `refers to ${shown}, which is not within the document ("#/…")`;
  const [root, section] = parts;
  if (root === 'components' && parts.length === 3 && named && section !== SECTION[kind])
    return `refers to ${shown}, where no ${SECTION[kind]} are`;
  const found = valueAtPointer(document, parts);
  if (isNode(found) || (kind === 'schema' && typeof found === 'boolean')) return null;
  return `refers to ${shown}, where nothing stands`;
}

const IN_PLACE = ['not', 'if', 'then', 'else'];
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'];

/** The nodes that this one depends on: the target of its reference, and schemas that apply to the same value. */
const nextOf = (document: OpenApi, node: Node): Node[] => {
  const parts = typeof node.$ref === 'string' ? pointerParts(node.$ref) : null;
  return [
    ...(parts ? [valueAtPointer(document, parts)] : []),
    ...IN_PLACE.map((keyword) => node[keyword]),
    ...IN_PLACE_LISTS.flatMap((keyword) => (Array.isArray(node[keyword]) ? node[keyword] : [])),
    ...(isNode(node.dependentSchemas) ? Object.values(node.dependentSchemas) : []),
  ].filter(isNode);
};

const known = new WeakMap<Node, 'open' | 'fine'>();

/** Depth first without recursion, since a chain may be as long as the document. Each node is visited once. */
function isCircular(document: OpenApi, from: Node): boolean {
  if (known.get(from) === 'fine') return false;
  const stack = [{ node: from, next: nextOf(document, from) }];
  known.set(from, 'open');
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const node = top.next.pop();
    if (!node) {
      known.set(top.node, 'fine');
      stack.pop();
      continue;
    }
    const seen = known.get(node);
    if (seen === 'open') return true;
    if (seen === undefined) {
      known.set(node, 'open');
      stack.push({ node, next: nextOf(document, node) });
    }
  }
  return false;
}
