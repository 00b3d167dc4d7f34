/** JSON in indented lines, as runs with looks. */
import type { Look, TextRun } from './tokens.ts';

const MOST_NODES = 20_000;
const DEEPEST = 200;

/** null: it is none, or too much of it to be formatted. */
export function jsonRuns(text: string): TextRun[] | null {
  const value = parsed(text);
  if (value === undefined) return null;
  const runs: TextRun[] = [];
  let nodes = 0;
  const put = (run: string, look?: Look) => runs.push({ text: run, looks: look ? [look] : [] });
  const write = (node: unknown, depth: number): boolean => {
    nodes += 1;
    if (nodes > MOST_NODES || depth > DEEPEST) return false;
    if (typeof node !== 'object' || node === null) {
      put(JSON.stringify(node), lookOf(node));
      return true;
    }
    const isList = Array.isArray(node);
    const entries = Object.entries(node);
    if (entries.length === 0) put(isList ? '[]' : '{}');
    if (entries.length === 0) return true;
    put(isList ? '[' : '{');
    for (const [i, [key, child]] of entries.entries()) {
      put(`${i > 0 ? ',' : ''}\n${'  '.repeat(depth + 1)}`);
      if (!isList) put(JSON.stringify(key), 'attribute');
      if (!isList) put(': ');
      if (!write(child, depth + 1)) return false;
    }
    put(`\n${'  '.repeat(depth)}${isList ? ']' : '}'}`);
    return true;
  };
  return write(value, 0) ? runs : null;
}

const lookOf = (value: unknown): Look =>
  typeof value === 'string' ? 'string' : typeof value === 'number' ? 'number' : 'literal';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
