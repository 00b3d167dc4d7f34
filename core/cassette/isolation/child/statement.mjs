/** The body of a database request: a line of JSON, then the statement's text and its parameters as they are. The service reads it in statement-body.ts. */

/**
 * @param {unknown} sql
 * @param {Iterable<unknown>} parameters
 * @param {object} options
 */
export function statementBody(sql, parameters, options) {
  const texts = [String(sql).toWellFormed(), ...Array.from(parameters, parameterText)];
  const lengths = texts.map((text) => text?.length ?? null);
  return `${JSON.stringify({ lengths, options: options ?? {} })}\n${texts.join('')}`;
}

/** A parameter as text of the type that the statement expects there. */
function parameterText(value, i) {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array)
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  if (value instanceof Date) return instantText(value, i + 1);
  if (typeof value === 'object') return JSON.stringify(value, exact).toWellFormed();
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw refused(`$${i + 1} is a ${typeof value}: give text, a number, a boolean, bytes, a date, JSON or null`);
  }
  return String(value).toWellFormed();
}

function instantText(value, number) {
  if (Number.isNaN(value.getTime())) throw refused(`$${number} is an invalid date`);
  return value.toISOString();
}

const refused = (why) =>
  Object.assign(new Error(`Cannot run a statement: ${why}`), { name: 'DatabaseError', sqlstate: '', transient: false });

const exact = (_key, value) => (typeof value === 'bigint' ? String(value) : value);
