/** Values to and from PostgreSQL, the same way on both databases: in PostgreSQL's text format, parsed by one table. */
import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { parseJson } from '../../parse-json.ts';

export type WireStatement = { text: string; parameters: (string | null)[] };

/** A template as text with `$1`, `$2` …, its parameters in text format. The server infers their types from their positions. */
export function compiled(statement: SQL): WireStatement {
  const { sql: text, params } = dialect.sqlToQuery(statement);
  return { text, parameters: params.map(parameterText) };
}

/** Parsers of column text by type oid. Types without one stay text: numeric, timestamps, dates, intervals, uuid. */
export const columnReaders: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  17: bytes,
  20: Number, // bigint: counts and sizes here stay below 2^53
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  114: parseJson,
  3802: parseJson,
  1000: (text) => arrayOf(text, (element) => element === 't'),
  1001: (text) => arrayOf(text, bytes),
  1005: (text) => arrayOf(text, Number),
  1007: (text) => arrayOf(text, Number),
  1016: (text) => arrayOf(text, Number),
  1021: (text) => arrayOf(text, Number),
  1022: (text) => arrayOf(text, Number),
  199: (text) => arrayOf(text, parseJson),
  3807: (text) => arrayOf(text, parseJson),
  1002: (text) => arrayOf(text, String), // "char"
  1003: (text) => arrayOf(text, String), // name
  1009: (text) => arrayOf(text, String), // text
  1014: (text) => arrayOf(text, String), // bpchar
  1015: (text) => arrayOf(text, String), // varchar
  1115: (text) => arrayOf(text, String), // timestamp
  1182: (text) => arrayOf(text, String), // date
  1185: (text) => arrayOf(text, String), // timestamptz
  1231: (text) => arrayOf(text, String), // numeric
  2951: (text) => arrayOf(text, String), // uuid
};

const dialect = new PgDialect();

function parameterText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) {
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  }
  throw new TypeError('Cannot pass this parameter: give text, a number, a boolean, bytes or null');
}

/** A plain Uint8Array over memory of its own: a structured clone of a pooled Buffer would copy the whole pool. */
function bytes(text: string): Uint8Array {
  if (!text.startsWith('\\x')) return escapedBytes(text);
  const memory = Buffer.allocUnsafeSlow((text.length - 2) / 2);
  memory.write(text.slice(2), 'hex');
  return new Uint8Array(memory.buffer);
}

/** The form of a database with `bytea_output = escape`, which a pooler's connections keep: a backslash is `\\`, a byte that is not ASCII `\ooo`. */
function escapedBytes(text: string): Uint8Array {
  const byteOf = (_: string, code: string) => (code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 8)));
  return new Uint8Array(Buffer.from(text.replace(/\\(\\|[0-7]{3})/g, byteOf), 'latin1'));
}

function arrayOf(text: string, element: (text: string) => unknown): unknown[] {
  let at = text.indexOf('{'); // a literal may begin with its bounds: [0:1]={…}
  const list = (): unknown[] => {
    const elements: unknown[] = [];
    at += 1;
    while (text[at] !== '}') {
      if (text[at] === ',') at += 1;
      else if (text[at] === '{') elements.push(list());
      else if (text[at] === '"') elements.push(element(quoted()));
      else elements.push(bare());
    }
    at += 1;
    return elements;
  };
  const quoted = (): string => {
    let value = '';
    for (at += 1; text[at] !== '"'; at += 1) {
      if (text[at] === '\\') at += 1;
      value += text[at];
    }
    at += 1;
    return value;
  };
  const bare = (): unknown => {
    const start = at;
    while (text[at] !== ',' && text[at] !== '}') at += 1;
    const value = text.slice(start, at);
    return value === 'NULL' ? null : element(value);
  };
  return list();
}
