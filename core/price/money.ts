/**
 * Exact arithmetic on amounts of money: decimal texts over BigInt; no float ever holds an amount. By hand: these four functions are
 * four times as fast as big.js at pricing tokens, about as fast at adding, and never round, where its division and settings would.
 */

/** Money in USD as an exact decimal text ('0.000123'), as `numeric` takes it. */
export type Usd = string;

type Decimal = { units: bigint; scale: number }; // units × 10^-scale

/** The exact sum. Canonical: no exponent, no trailing zero. */
export function addUsd(one: Usd, other: Usd): Usd {
  const [a, b] = aligned(parsed(one), parsed(other));
  return printed({ units: a.units + b.units, scale: a.scale });
}

/** What so many tokens cost at a price per million, for instance `usdOf(1_000, '3.75')` is `0.00375`. */
export function usdOf(tokens: number, perMillion: string): Usd {
  if (tokens === 0) return '0';
  const price = parsed(perMillion);
  return printed({ units: BigInt(tokens) * price.units, scale: price.scale + 6 });
}

/** The exact product of two decimals. */
export function timesDecimal(one: string, other: string): string {
  const [a, b] = [parsed(one), parsed(other)];
  return printed({ units: a.units * b.units, scale: a.scale + b.scale });
}

/** Below, at or above zero as the first amount is below, at or above the second. */
export function compareUsd(one: Usd, other: Usd): number {
  const [a, b] = aligned(parsed(one), parsed(other));
  return a.units < b.units ? -1 : a.units > b.units ? 1 : 0;
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Also reads the exponents with which JavaScript prints numbers (`5e-7`). */
function parsed(text: string): Decimal {
  const match = DECIMAL.exec(text);
  if (!match) throw new RangeError('Cannot read an amount: it is not a decimal number');
  const [, sign = '', whole = '0', fraction = '', exponent = '0'] = match;
  const scale = fraction.length - Number(exponent);
  const units = BigInt(sign + whole + fraction);
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}

const aligned = (a: Decimal, b: Decimal): [Decimal, Decimal] => [atScale(a, b.scale), atScale(b, a.scale)];

const atScale = ({ units, scale }: Decimal, least: number): Decimal =>
  scale >= least ? { units, scale } : { units: units * 10n ** BigInt(least - scale), scale: least };

function printed({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - scale);
  return `${units < 0n ? '-' : ''}${whole}${scale > 0 && fraction !== '' ? `.${fraction}` : ''}`;
}
