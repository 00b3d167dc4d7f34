/** The parameters of an operation or of a path, with their references followed. */
import { isNode, type Node, type OpenApi, pointerParts, valueAtPointer } from './openapi-shape.ts';

/** References are known to end: that was checked before. */
export function parametersOf(document: OpenApi, { parameters }: Node): Node[] {
  return (Array.isArray(parameters) ? parameters : []).flatMap((parameter: unknown) => {
    let resolved = parameter;
    while (isNode(resolved) && typeof resolved.$ref === 'string')
      resolved = valueAtPointer(document, pointerParts(resolved.$ref) ?? []);
    return isNode(resolved) ? [resolved] : [];
  });
}
