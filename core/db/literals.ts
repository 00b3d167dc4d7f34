/** Values in SQL, the same way on both databases: as text, with array literals for `unnest` and JSON without what jsonb refuses. */
import { randomBytes } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { storable } from '../derive/storable.ts';
import { isObject, parseJson } from '../parse-json.ts';

type Scalar = string | number | boolean | null;

/** A PostgreSQL array literal of scalars, to be cast: `unnest(${pgArray(names)}::text[])`. NUL, which text refuses, becomes U+FFFD. */
export const pgArray = (values: readonly Scalar[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : quoted(String(value)))).join(',')}}`;

/** An array literal of bytea from lower-case hex: `${hexArray(hashes)}::bytea[]`. */
export const hexArray = (hexes: readonly (string | null)[]): string =>
  `{${hexes.map((hex) => (hex === null ? 'NULL' : `"\\\\x${hex}"`)).join(',')}}`;

/** An array literal of bytea from bytes. */
export const bytesArray = (values: readonly (Uint8Array | null)[]): string =>
  hexArray(
    values.map((bytes) =>
      bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex'),
    ),
  );

/**
 * JSON text that jsonb accepts: U+0000 and lone surrogates, which it refuses, become U+FFFD, in keys as well as in values. The rest
 * of the text is unchanged.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return MAY_BE_REFUSED.test(text) ? storableText(value) : text;
}

/** A list of JSON texts as one. */
export const jsonRows = (rows: readonly string[]): string => `[${rows.join(',')}]`;

/**
 * The JSON text of an object, with more members. Both objects have at least one.
 * @example
 * withMembers('{"n":1}', { rev: 2 }); // => '{"n":1,"rev":2}'
 */
export const withMembers = (object: string, more: object): string =>
  `${object.slice(0, -1)},${JSON.stringify(more).slice(1)}`;

/** The value with the texts that jsonb returns for its texts. Hardly any value holds one that is stored as another. */
export const asStored = <Value>(value: Value): Value =>
  MAY_BE_REFUSED.test(JSON.stringify(value) ?? '') ? (parseJson(storableText(value)) as Value) : value;

/** JSON.stringify escapes exactly these; an escaped backslash before `u0000` only costs a second pass. */
const MAY_BE_REFUSED = /\\u(0000|d[89a-f])/;

const storableText = (value: unknown): string => JSON.stringify(value, (_key, member) => storableMember(member));

/**
 * Text, without NUL, as a literal for statements that take no parameters. Between unique dollar quotes nothing is escaped, so it means the
 * same whatever the database's settings are, and megabytes cost nothing.
 */
export function quotedText(text: string): string {
  for (;;) {
    const quote = `$q${randomBytes(9).toString('hex')}$`;
    if (!text.includes(quote)) return `${quote}${text}${quote}`;
  }
}

const INSTANT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/** An instant as `2026-11-21T09:30:00.123456Z`, which sorts as text in the order of time. */
export const instant = (column: SQL): SQL<string> =>
  sql<string>`to_char(${column} at time zone 'UTC', ${sql.raw(INSTANT)})`;

/** The same of a column whose name is text. */
export const instantText = (column: string): string => `to_char(${column} at time zone 'UTC', ${INSTANT})`;

function storableMember(member: unknown): unknown {
  if (typeof member === 'string') return storable(member);
  if (!isObject(member)) return member;
  return Object.fromEntries(Object.entries(member).map(([key, value]) => [storable(key), value]));
}

const quoted = (text: string) => `"${storable(text).replace(/["\\]/g, '\\$&')}"`;
