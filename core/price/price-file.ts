/** The operator's own prices: the table of `pricing.file`, and a price lookup that tries it first. */
import { z } from 'zod';
import { OperatorError } from '../errors.ts';
import { modelAndSuffix } from '../harness/harnesses.ts';
import { ProviderId } from '../provider/provider-ids.ts';
import { tokenBill } from './bill.ts';
import { timesDecimal } from './money.ts';
import type { PriceOf } from './prices.ts';

const MOST_USD = 1_000_000; // a dollar a token: anything above is a mistake
const MOST_PROBLEMS = 5;

/** The number as a decimal text without exponent: no float holds an amount once it is read. Null when it is no amount. */
function amountOf(value: unknown): string | null {
  const isNumber = typeof value === 'number' && value >= 0 && value <= MOST_USD;
  const text = isNumber ? timesDecimal(String(value), '1') : value;
  const isDecimal = typeof text === 'string' && /^\d{1,7}(?:\.\d{1,30})?$/.test(text);
  return isDecimal && Number(text) <= MOST_USD ? text : null;
}

const Amount = z
  .custom<number | string>((value) => amountOf(value) !== null, {
    error: ({ input }) =>
      input === undefined ? 'is missing' : `must be USD per million tokens, a number from 0 to ${MOST_USD}`,
  })
  .transform((value) => amountOf(value) ?? '');

/** An unknown key is refused: it is a typo, and its tokens would be billed at the price of another kind. */
const PriceRow = z.strictObject(
  {
    input: Amount,
    output: Amount,
    cache_read: Amount.optional(), // else as input
    cache_write: Amount.optional(), // for 5 minutes; else as input, or the provider's multiple of it
    cache_write_1h: Amount.optional(), // else as cache_write, or the provider's multiple of input
    since: z.iso.date({ error: "must be a day such as '2026-07-01'" }).optional(), // from midnight UTC; else always
    provider: z // else whichever
      .enum(ProviderId.options, { error: `must be one of ${ProviderId.options.join(', ')}` })
      .optional(),
  },
  { error: 'must be a row such as {"input": 3, "output": 15}' },
);
type PriceRow = z.infer<typeof PriceRow>;

/** Rows by the name of their model, as plain JSON with amounts as decimal texts; a lone row of the file is a list of one. */
export const PriceTable = z.record(
  z.string(),
  z.preprocess(
    (value) => (Array.isArray(value) ? value : [value]),
    z.array(PriceRow).min(1, { error: 'must have at least one row' }),
  ),
  { error: 'must be an object with a row, or a list of rows, for each model' },
);
export type PriceTable = z.infer<typeof PriceTable>;

/** @throws {OperatorError} status 2, naming the first five problems and their locations; never a value of the file */
export function parsePriceTable(text: string): PriceTable {
  const document = parsedJson(text.replace(/^\uFEFF/, ''));
  const result = PriceTable.safeParse(document);
  const problems = result.success
    ? contradictions(result.data)
    : result.error.issues.flatMap((issue) => problemsOf(issue, document));
  if (result.success && problems.length === 0) return result.data;
  throw unusable(problems);
}

/**
 * Prices from the table, and from `otherwise` where it has no row for the model, the provider and the instant. A row's price applies
 * to the tokens on whatever terms they were billed, since the operator knows his own terms; 0 is a price as well.
 * A name is looked up as spelt, letter case apart, then without the day of a snapshot and a harness's suffix. Of a model's rows, those for
 * the provider take precedence over those for any, then the latest that has begun.
 */
export function pricesWith(table: PriceTable, otherwise: PriceOf): PriceOf {
  const models = new Map(
    Object.entries(table).map(([name, rows]) => [spelling(name), { name, rows: rows.toSorted(latestFirst) }]),
  );
  return (provider, model, at, usage, terms) => {
    if (terms?.other_models) return otherwise(provider, model, at, usage, terms); // a row is for one model's tokens only
    for (const name of namesOf(model)) {
      const known = models.get(name);
      const row = known && rowAt(known.rows, provider, at);
      if (!row) continue;
      const { usd, parts, rates } = tokenBill(provider, usage, row);
      return { usd, parts, price: { model: known.name, source: 'pricing.file', date: row.since ?? '', rates } };
    }
    return otherwise(provider, model, at, usage, terms);
  };
}

const spelling = (name: string): string => name.trim().toLowerCase();

/** A model's names, the most exact first. */
function namesOf(model: string): Set<string> {
  const name = spelling(model);
  const [base, suffix] = modelAndSuffix(name);
  const undated = base.replace(/-\d{4}(?:-\d{2}-\d{2}|\d{4})$/, '');
  return new Set([name, undated + suffix, base, undated]);
}

const latestFirst = ({ since: a = '' }: PriceRow, { since: b = '' }: PriceRow): number => (a < b ? 1 : a > b ? -1 : 0);

function rowAt(rows: readonly PriceRow[], provider: string, at: string): PriceRow | undefined {
  const begun = rows.filter(({ since = '' }) => since <= at); // a day is less than each of its instants, as text
  return begun.find((row) => row.provider === provider) ?? begun.find((row) => row.provider === undefined);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // the parser's message may quote the file, which may not be the one that was meant
    const position = / at position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    const before = text.slice(0, Number(position ?? text.length)).split('\n');
    const isTorn = position === undefined && /unexpected end/i.test(String(error));
    if (position === undefined && !isTorn) throw unusable(['the file: is not JSON']);
    const location = `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
    throw unusable([`${location}: ${isTorn ? 'ends too early to be JSON' : 'is not JSON'}`]);
  }
}

/** What the schema cannot check: two rows that would hold at once, or two names for one model. */
function contradictions(table: PriceTable): string[] {
  const names = Object.keys(table);
  const empty = names.filter((name) => spelling(name) === '').map((name) => `${shown(name)}: must name a model`);
  const twice = names.flatMap((name, i) => {
    const same = names.slice(0, i).find((earlier) => spelling(earlier) === spelling(name));
    return same === undefined ? [] : [`${shown(name)}: is the same model as ${shown(same)}`];
  });
  const rivals = Object.entries(table).flatMap(([name, rows]) =>
    rows.flatMap((row, i) => {
      const rival = rows.findIndex((other) => other.since === row.since && other.provider === row.provider);
      return rival === i ? [] : [`${shown(name)}, row ${i + 1}: holds from the same day as row ${rival + 1}`];
    }),
  );
  return [...empty, ...twice, ...rivals];
}

const KEYS = Object.keys(PriceRow.shape).join(', ');

function problemsOf(issue: z.core.$ZodIssue, document: unknown): string[] {
  const location = locationOf(issue.path, document);
  if (issue.code !== 'unrecognized_keys') return [`${location}: ${issue.message}`];
  return issue.keys.map((key) => `${location}, ${shown(key)}: there is no such key; known are ${KEYS}`);
}

/** The rows of a list are counted from 1; a lone row is not counted. */
function locationOf([model, row, key]: readonly PropertyKey[], document: unknown): string {
  if (model === undefined) return 'the file';
  const isList = Array.isArray((document as Record<PropertyKey, unknown>)[model]);
  const parts = [isList && row !== undefined && `row ${Number(row) + 1}`, key !== undefined && String(key)];
  return [shown(String(model)), ...parts.filter((part) => part !== false)].join(', ');
}

const shown = (name: string): string => `'${name.length > 80 ? `${name.slice(0, 80)}…` : name}'`;

function unusable(problems: readonly string[]): OperatorError {
  const [first = '', ...others] = problems;
  if (others.length === 0) return new OperatorError(`Cannot use pricing.file: ${first}`, 2);
  const listed = problems.slice(0, MOST_PROBLEMS);
  const rest = problems.length - listed.length;
  const lines = [...listed, ...(rest > 0 ? [`and ${rest} more`] : [])].map((line) => `  - ${line}`);
  return new OperatorError(`Cannot use pricing.file:\n${lines.join('\n')}`, 2);
}
