/** A JSON value as the rows of a tree: those that are open, in order. */
import { grouped } from './number-text.ts';

export type JsonRow = {
  /** The way to it, as `messages[116].content`. */
  path: string;
  depth: number;
  /** The name or place in its parent; '' for the whole. */
  key: string;
  type: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null' | 'more';
  /** Of a value without parts. */
  value: unknown;
  /** How many parts it has; null: it can have none. */
  size: number | null;
  isOpen: boolean;
};

/** A number by its digits, which are more or others than a number of ours has. */
export class Numeral {
  readonly digits: string;
  constructor(digits: string) {
    this.digits = digits;
  }
  toString(): string {
    return this.digits;
  }
}

const MOST_PARTS = 20_000;
const DEEPEST = 200;

/** @param isOpen whether the value at a path shows its parts */
export function jsonRowList(value: unknown, isOpen: (path: string, depth: number) => boolean): JsonRow[] {
  const rows: JsonRow[] = [];
  const pending: { value: unknown; path: string; key: string; depth: number }[] = [
    { value, path: '', key: '', depth: 0 },
  ];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { path, key, depth } = next;
    if (next.value === MORE) {
      rows.push({ path, key, depth, type: 'more', value: null, size: null, isOpen: false });
      continue;
    }
    const parts = partsOf(next.value);
    const open = parts !== null && parts.length > 0 && depth < DEEPEST && isOpen(path, depth);
    rows.push({
      path,
      key,
      depth,
      type: typeOf(next.value),
      value: parts ? null : next.value,
      size: parts?.length ?? null,
      isOpen: open,
    });
    if (!open || !parts) continue;
    const isList = Array.isArray(next.value);
    const shown = parts
      .slice(0, MOST_PARTS)
      .map(([name, part]) => ({ value: part, path: pathOf(path, name, isList), key: name, depth: depth + 1 }));
    if (parts.length > MOST_PARTS)
      shown.push({
        value: MORE,
        path: `${path}…`,
        key: `${grouped(parts.length - MOST_PARTS)} more`,
        depth: depth + 1,
      });
    for (const part of shown.reverse()) pending.push(part);
  }
  return rows;
}

const MORE = Symbol('more');

function partsOf(value: unknown): [string, unknown][] | null {
  return typeof value === 'object' && value !== null && !(value instanceof Numeral) ? Object.entries(value) : null;
}

function typeOf(value: unknown): JsonRow['type'] {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Numeral) return 'number';
  return typeof value as 'object' | 'string' | 'number' | 'boolean';
}

function pathOf(path: string, name: string, isList: boolean): string {
  if (isList) return `${path}[${name}]`;
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}
