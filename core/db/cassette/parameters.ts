/** How do parameters come into a statement that is run as text? As quoted literals, each where the parser found its `$1`. */
import { refused } from './refused.ts';
import type { Verdict } from './statement.ts';

/** The statement with its parameters in it. A literal's type is inferred where it stands, as a driver's parameter's would be. */
export function withParameters(text: string, verdict: Verdict, parameters: readonly unknown[]): string {
  const { start, end, places } = verdict;
  const wanted = Math.max(0, ...places.map(({ parameter }) => parameter));
  if (parameters.length !== wanted) {
    const has = wanted === 0 ? 'no parameters' : `parameters up to $${wanted}`;
    throw refused(`it has ${has}, and ${parameters.length} came`);
  }
  const literals = parameters.map((value, i) => literal(value, i + 1));
  const bytes = Buffer.from(text);
  let at = start;
  let filled = '';
  for (const place of places) {
    filled += `${bytes.toString('utf8', at, place.start)}(${literals[place.parameter - 1]})`;
    at = place.end;
  }
  return filled + bytes.toString('utf8', at, end);
}

/** `E''` reads the same whatever the database's settings are. */
function literal(value: unknown, number: number): string {
  const text = parameterText(value, number);
  if (text === null) return 'null';
  if (text.includes('\0')) throw refused(`$${number} holds a NUL, which PostgreSQL's text cannot`, '22021');
  return `E'${text.replace(/[\\']/g, '$&$&')}'`;
}

function parameterText(value: unknown, number: number): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Date) return instantText(value, number);
  if (value instanceof Uint8Array) {
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  }
  if (typeof value === 'object') return jsonOf(value, number);
  throw refused(`$${number} is a ${typeof value}: give text, a number, a boolean, bytes, a date, JSON or null`);
}

function instantText(value: Date, number: number): string {
  if (Number.isNaN(value.getTime())) throw refused(`$${number} is an invalid date`);
  return value.toISOString();
}

function jsonOf(value: object, number: number): string {
  try {
    return JSON.stringify(value);
  } catch {
    throw refused(`$${number} cannot be written as JSON`);
  }
}
