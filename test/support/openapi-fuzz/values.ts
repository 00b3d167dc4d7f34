/** Generated values: those that a schema allows, and those that break careless code. */
import * as fc from 'fast-check';
import { type Document, resolved, type Schema } from './document.ts';

/** A value that the schema allows; examples are generated often, since they work. */
export function allowed(document: Pick<Document, 'components'>, declared: Schema, depth = 0): fc.Arbitrary<unknown> {
  const schema = resolved(document, declared);
  const made = generated(document, schema, depth);
  const examples = Array.isArray(schema.examples) ? schema.examples : [];
  return examples.length > 0
    ? fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...examples) }, { weight: 1, arbitrary: made })
    : made;
}

function generated(document: Pick<Document, 'components'>, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const inner = (one: unknown) => allowed(document, one as Schema, depth + 1);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  const branches = (schema.anyOf ?? schema.oneOf) as unknown[] | undefined;
  if (Array.isArray(schema.anyOf) && schema.properties)
    return fc.oneof(...schema.anyOf.map((one) => generated(document, narrowed(schema, one), depth)));
  if (branches) return fc.oneof(...branches.map(inner));
  if (Array.isArray(schema.allOf)) return inner(schema.allOf[0]);
  const types = [schema.type].flat();
  const type = types.find((one) => one !== 'null');
  const value = ofType(type, schema, inner, depth);
  return types.includes('null') ? fc.option(value, { freq: 4 }) : value;
}

/** An object whose branches only require more of its members. */
const narrowed = ({ anyOf: _, ...schema }: Schema, branch: unknown): Schema => ({
  ...schema,
  required: [...((schema.required ?? []) as string[]), ...((branch as Schema).required as string[])],
});

function ofType(
  type: unknown,
  schema: Schema,
  inner: (schema: unknown) => fc.Arbitrary<unknown>,
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return text(schema);
    case 'integer':
      return fc.integer({ min: (schema.minimum as number) ?? -1000, max: (schema.maximum as number) ?? 100_000 });
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(inner(schema.items ?? {}), { minLength: (schema.minItems as number) ?? 0, maxLength: 3 });
    case 'object': {
      const properties = Object.entries((schema.properties ?? {}) as Record<string, unknown>);
      const requiredKeys = (schema.required ?? []) as string[];
      return fc.record(Object.fromEntries(properties.map(([name, one]) => [name, inner(one)])), { requiredKeys });
    }
    default:
      return depth > 3 ? fc.constant(null) : fc.jsonValue({ maxDepth: 2 });
  }
}

function text({ format, pattern, minLength, maxLength }: Schema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time')
    return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((at) => at.toISOString());
  if (format === 'date')
    return fc.date({ min: new Date(0), noInvalidDate: true }).map((at) => at.toISOString().slice(0, 10));
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern));
  return fc.string({
    unit: 'grapheme',
    minLength: (minLength as number) ?? 0,
    maxLength: Math.min((maxLength as number) ?? 40, 40),
  });
}

/** Raw text of a segment or a query's value, as it is written in the address. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    ...[
      '',
      '%20',
      'null',
      'undefined',
      'true',
      '[]',
      '{}',
      '[object%20Object]',
      '-',
      '*',
      '!',
      '...',
      '%',
      '%zz',
      '%2',
    ],
    ...['0', '-0', '-1', '1.5', '1e3', '0x10', '1e309', 'NaN', '-Infinity', '9007199254740993', '٣'],
    ...['%00', 'a%00b', '%0d%0ax-injected:%201', '%ED%A0%80', '%C0%AF', '%FF%FE', '%F0%9F%92%A5', '%E2%80%AE'],
    ...['%27', "'%20or%20'1'='1", '%22;drop%20schema%20svc%20cascade;--', '$1', '%25', '%5c', '..%2f..%2fetc%2fpasswd'],
    ...['%3Cscript%3Ealert(1)%3C%2Fscript%3E', '__proto__', 'constructor', 'toString', '{id}', ':id'],
    ...['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ...[
      '%7B7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10%7D',
      '7d1c9f9e2f0a5f0e9a550d3b5a3f4c10',
      '7D1C9F9E-2F0A-5F0E-9A55-0D3B5A3F4C10',
    ],
    ...['2026-02-30T00:00:00Z', '2026-07-27T10:00:00', '2026-07-27', '2016-12-31T23:59:60Z', '2026-07-27T24:00:00Z'],
    ...[
      '0000-01-01T00:00:00Z',
      '9999-12-31T23:59:59.999999999Z',
      '2026-07-27T10:00:00%2B23:59',
      '2026-07-27T10:00:00+02:00',
    ],
    ...['infinity', '-infinity', 'now', 'epoch', '+10000-01-01T00:00:00Z', '1753600000'],
    ...['W10', 'WzEsIngiLDFd', 'bnVsbA', 'e30', 'WzEs', Buffer.from('[1,"AAAAAAAAAAAAAAAA",{}]').toString('base64url')],
  ),
  fc.constantFrom('a', '9', '%F0%9F%92%A5', '-').chain((letter) => fc.nat(600).map((times) => letter.repeat(times))),
  fc.string({ unit: 'binary', maxLength: 12 }).map((letters) => encodeURIComponent(letters.toWellFormed())),
  fc.constantFrom(2_048, 2_049, 8_000).map((length) => 'x'.repeat(length)),
);

/** A JSON text, or a text that only resembles one. */
export const hostileBody = (document: Pick<Document, 'components'>, schema: Schema): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(
      ...[
        '',
        ' ',
        'null',
        'true',
        '0',
        '""',
        '[]',
        '{}',
        '[{}]',
        '{',
        '{"a":',
        '\u0000',
        '\ufeff{}',
        '{}{}',
        "{'a':1}",
      ],
      ...[
        '{"__proto__":{"a":1}}',
        '{"constructor":{"prototype":1}}',
        '{"a":1,"a":2}',
        '{"a":1e999}',
        'NaN',
        'undefined',
      ],
      ...['a=1&b=2', '<x/>', '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--x--'],
      '['.repeat(2_000),
      `${'['.repeat(1_500)}${']'.repeat(1_500)}`,
      `${'{"a":'.repeat(700)}1${'}'.repeat(700)}`,
      JSON.stringify({ a: 'x'.repeat(5_000) }),
      JSON.stringify('x'.repeat(70_000)),
    ),
    fc.json(),
    fc.tuple(allowed(document, schema), fc.nat(200)).map(([value, cut]) => JSON.stringify(value)?.slice(0, cut) ?? ''),
    fc.tuple(allowed(document, schema), mutation).map(([value, mutate]) => JSON.stringify(mutate(value)) ?? ''),
  );

/** One member of the outermost or the next object is replaced, dropped or added. */
const mutation: fc.Arbitrary<(value: unknown) => unknown> = fc
  .tuple(
    fc.nat(),
    fc.oneof(
      fc.constantFrom<unknown>(
        undefined,
        null,
        '',
        0,
        -1,
        1.5,
        1e21,
        [],
        {},
        true,
        '\u0000',
        '\ud800',
        'x'.repeat(300),
      ),
      fc.jsonValue({ maxDepth: 1 }),
    ),
    fc.constantFrom('replace', 'add', 'inner'),
  )
  .map(
    ([at, put, how]) =>
      (value: unknown) =>
        mutated(value, at, put, how),
  );

function mutated(value: unknown, at: number, put: unknown, how: string): unknown {
  if (typeof value !== 'object' || value === null) return put;
  const keys = Object.keys(value);
  const key = how === 'add' || keys.length === 0 ? 'surprise' : String(keys[at % keys.length]);
  const previous = (value as Record<string, unknown>)[key];
  return { ...value, [key]: how === 'inner' ? mutated(previous, at, put, 'replace') : put };
}
