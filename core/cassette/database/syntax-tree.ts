/** The syntax tree of a parsed statement: every node with its kind, up to a limit of nesting. */
import { refused, TOO_DEEP } from './statement-refusals.ts';

/** A node and its kind; '' where the parser's output omits it, because only one kind is possible there. */
export type Seen = { kind: string; node: Readonly<Record<string, unknown>> };

/**
 * PostgreSQL checks its own stack depth, but PGlite's stack is smaller than it assumes: 300 nested calls break it. A chain of
 * operators or of unions costs little.
 */
const DEEPEST = 150;
const COST: Readonly<Record<string, number>> = { A_Expr: 0.1, ResTarget: 0, List: 0, larg: 0.2 };

/** @throws {DatabaseError} too deep */
export function* nodesOf(root: unknown): Generator<Seen> {
  const stack: { value: unknown; kind: string; depth: number }[] = [{ value: root, kind: '', depth: 0 }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value, kind, depth } = next;
    if (depth > DEEPEST) throw refused(TOO_DEEP);
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const element of value) stack.push({ value: element, kind: '', depth });
      continue;
    }
    const node = value as Record<string, unknown>;
    yield { kind, node };
    for (const [key, member] of Object.entries(node)) {
      const isKind = /^[A-Z]/.test(key);
      const cost = COST[key] ?? (isKind ? 1 : 0);
      stack.push({ value: member, kind: isKind ? key : '', depth: depth + cost });
    }
  }
}

/** The parts of a qualified name, as the parser lists them. */
export const wordsOf = (list: unknown): string[] =>
  Array.isArray(list)
    ? list.flatMap((entry: { String?: { sval?: string } }) => (entry.String ? [entry.String.sval ?? ''] : []))
    : [];
