/** Every parameter and every member of a body once with each value that breaks careless code, the rest as described. */
import * as fc from 'fast-check';
import { type Document, type Operation, resolved, type Schema } from './document.ts';
import { type Known, requestsOf, type Sent } from './requests.ts';
import { allowed } from './values.ts';

/** Values as they are written in an address. */
const TEXTS = [
  ...['%00', 'a%00b', '%ED%A0%80', '%F0%9F%92', '', '-1', '0', '1.5', '1e309', '9'.repeat(40), '-9223372036854775809'],
  ...['null', '[]', '%7B%7D', 'no-such-word', "'%20or%201=1--", '%25', '%5C', 'x'.repeat(6_000), '%E2%80%AE'],
];
/** Values of a body, as JSON text: half a surrogate pair cannot be sent in any other way. */
const VALUES: readonly string[] = [
  ...['"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00x"', '""', 'null', 'true', '0', '-1', '1.5', '1e309', '-1e309'],
  ...['123456789012345678901234567890', '[]', '{}', '[null]', '[["\\u0000"]]', '["\\ud800"]', '"no-such-word"'],
  JSON.stringify('x'.repeat(300_000)),
];
const MARK = '__here__';

/** The requests in a fixed order. @param seed of the parts that are as described */
export function* sweepOf(document: Document, operation: Operation, known: Known, seed: number): Generator<Sent> {
  const good = fc.sample(requestsOf(document, operation, known, 'kept'), { numRuns: 1, seed })[0];
  if (!good) return;
  yield* addresses(operation, good);
  yield* headers(operation, good);
  yield* bodies(document, operation, good, seed);
}

function* addresses({ parameters, path }: Operation, good: Sent): Generator<Sent> {
  const [at = '', query = ''] = good.path.split('?');
  const pairs = new URLSearchParams(query);
  const parts = path.split('/');
  for (const [index, part] of parts.entries()) {
    if (!part.includes('{')) continue;
    for (const text of TEXTS.filter((one) => one !== '')) {
      const replaced = at.split('/').map((own, position) => (position === index ? text : own));
      yield { ...good, path: `${replaced.join('/')}${query === '' ? '' : `?${query}`}` };
    }
  }
  const named = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  for (const name of [...named, 'nobody-knows-this']) {
    const others = new URLSearchParams([...pairs].filter(([other]) => other !== name)).toString();
    const lead = `${at}?${others === '' ? '' : `${others}&`}`;
    for (const text of TEXTS) yield { ...good, path: `${lead}${name}=${text}` };
    yield { ...good, path: `${lead}${name}=a&${name}=%00` };
    yield { ...good, path: `${lead}${name}=1&${name}=2` };
    yield { ...good, path: `${lead}${name}` };
    yield { ...good, path: `${lead}${name}[]=1` };
  }
}

function* headers({ parameters }: Operation, good: Sent): Generator<Sent> {
  for (const { name } of parameters.filter((one) => one.in === 'header'))
    for (const value of ['', ' ', '\u00ff\u00fe', 'null', '-1', '9'.repeat(40), 'x'.repeat(200), '"', '\t'])
      yield { ...good, headers: { ...good.headers, [name]: value } };
}

function* bodies(document: Document, { requestBody }: Operation, good: Sent, seed: number): Generator<Sent> {
  const [described] = Object.entries(requestBody?.content ?? {});
  if (!described) return;
  const [type, { schema = {} }] = described;
  const whole = fc.sample(fullOf(document, schema), { numRuns: 1, seed })[0];
  const send = (body: string): Sent => ({ ...good, headers: { ...good.headers, 'content-type': type }, body });
  for (const value of VALUES) yield send(value);
  for (const marked of markedIn(whole))
    for (const value of VALUES) yield send(JSON.stringify(marked).replace(`"${MARK}"`, () => value));
}

/** A body that also has its optional members. */
function fullOf(document: Document, schema: Schema): fc.Arbitrary<unknown> {
  const { properties } = resolved(document, schema);
  if (typeof properties !== 'object' || properties === null) return allowed(document, schema);
  return fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, fullOf(document, one as Schema)])),
  );
}

/** The value once for each of its members at any depth, with a mark in its place, and once with an unknown member. */
function* markedIn(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    if (value.length === 0) yield [MARK];
    for (const [index, one] of value.entries()) {
      yield value.with(index, MARK);
      for (const inner of markedIn(one)) yield value.with(index, inner);
    }
  } else if (typeof value === 'object' && value !== null) {
    yield { ...value, surprise: MARK };
    for (const [name, one] of Object.entries(value)) {
      yield { ...value, [name]: MARK };
      for (const inner of markedIn(one)) yield { ...value, [name]: inner };
    }
  }
}
