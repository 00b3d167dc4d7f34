/** Puts parameters into a statement that is run as text: as quoted literals, where the parser found `$1`, `$2` … */
import { quotedText } from '../../db/literals.ts';
import type { StatementVerdict } from './statement.ts';
import { refused } from './statement-refusals.ts';

/** The limit of a statement with its parameters in it, in UTF-8. */
const MOST_MIB = 16;

/**
 * Checks the parameters. @returns a function that builds the statement with its parameters in it. A literal's type is inferred from its
 * position, as a driver's parameter's would be. The size is computed before anything is built: a parameter can be used any number of times.
 */
export function withParameters(text: string, verdict: StatementVerdict, parameters: readonly unknown[]): () => string {
  const { start, end, places } = verdict;
  const expected = places.reduce((most, { parameter }) => Math.max(most, parameter), 0);
  if (parameters.length !== expected) {
    const declared = expected === 0 ? 'no parameters' : `parameters up to $${expected}`;
    throw refused(`it has ${declared}, and ${parameters.length} came`);
  }
  const texts = parameters.map((value, i) => checkedText(value, i + 1));
  refuseLong(texts, verdict);
  return () => {
    const literals = texts.map((each) => (each === null ? 'null' : quotedText(each)));
    const bytes = Buffer.from(text);
    let at = start;
    let filled = '';
    for (const range of places) {
      filled += `${bytes.toString('utf8', at, range.start)}(${literals[range.parameter - 1]})`;
      at = range.end;
    }
    return filled + bytes.toString('utf8', at, end);
  };
}

function refuseLong(texts: readonly (string | null)[], { start, end, places }: StatementVerdict): void {
  const lengths = texts.map((each) => Buffer.byteLength(each ?? 'null'));
  const bytes = places.reduce((sum, { parameter }) => sum + (lengths[parameter - 1] ?? 0), end - start);
  if (bytes <= MOST_MIB * 1024 * 1024) return;
  const size = `${Math.ceil(bytes / 1024 / 1024)} MiB`;
  throw refused(`with its parameters in it, wherever they are named, it has ${size}; at most ${MOST_MIB} MiB are run`);
}

function checkedText(value: unknown, number: number): string | null {
  const text = parameterText(value, number);
  if (text?.includes('\0')) throw refused(`$${number} holds a NUL, which PostgreSQL's text cannot`, '22021');
  return text;
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
