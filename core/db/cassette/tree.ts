/** What stands in a parsed statement? Every node of it, with what it holds and how deep it nests. */
import { refused, TOO_DEEP } from './refused.ts';

/** Of a node its kind; '' where the parser's output leaves it out, because the place allows one kind only. */
export type Seen = { kind: string; node: Readonly<Record<string, unknown>> };

/**
 * PostgreSQL checks its own depth, PGlite's stack is smaller than it believes: 300 calls within each other break it. A chain of
 * operators or of unions costs little.
 */
const DEEPEST = 150;
const COST: Readonly<Record<string, number>> = { A_Expr: 0.1, ResTarget: 0, List: 0, larg: 0.2 };

/** @throws {DatabaseError} too deep */
export function* nodesOf(root: unknown): Generator<Seen> {
  const open: { value: unknown; kind: string; depth: number }[] = [{ value: root, kind: '', depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, kind, depth } = next;
    if (depth > DEEPEST) throw refused(TOO_DEEP);
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const element of value) open.push({ value: element, kind: '', depth });
      continue;
    }
    const node = value as Record<string, unknown>;
    yield { kind, node };
    for (const [key, member] of Object.entries(node)) {
      const isKind = /^[A-Z]/.test(key);
      const cost = COST[key] ?? (isKind ? 1 : 0);
      open.push({ value: member, kind: isKind ? key : '', depth: depth + cost });
    }
  }
}

/** The names of a qualified name, as the parser lists them. */
export const wordsOf = (list: unknown): string[] =>
  Array.isArray(list)
    ? list.flatMap((entry: { String?: { sval?: string } }) => (entry.String ? [entry.String.sval ?? ''] : []))
    : [];
