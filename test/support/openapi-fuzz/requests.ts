/** Generated requests to an operation: as its contract has them, with ids that exist, and in every way that it does not foresee. */
import * as fc from 'fast-check';
import type { Document, Operation, Parameter, Schema } from './document.ts';
import { allowed, hostileBody, hostileText } from './values.ts';

export type Sent = { method: string; path: string; headers: Record<string, string>; body: string | null };

/** Values that exist, by parameter. Those of a path are kept together, since they depend on each other. */
export type Known = { paths: readonly Record<string, string>[]; query: Readonly<Record<string, readonly string[]>> };

/** About half of the requests keep to the contract. @param manner of all of them */
export function requestsOf(
  document: Document,
  operation: Operation,
  known: Known,
  manner?: Manner,
): fc.Arbitrary<Sent> {
  if (manner) return request(document, operation, known, manner);
  return fc.oneof(
    { weight: 5, arbitrary: request(document, operation, known, 'kept') },
    { weight: 4, arbitrary: request(document, operation, known, 'broken') },
    { weight: 1, arbitrary: request(document, operation, { paths: [], query: {} }, 'kept') }, // ids that do not exist
  );
}

export type Manner = 'kept' | 'broken';

function request(document: Document, operation: Operation, known: Known, manner: Manner): fc.Arbitrary<Sent> {
  return fc
    .record({
      path: pathOf(document, operation, known, manner),
      query: queryOf(document, operation, known, manner),
      own: headersOf(document, operation),
      strange: manner === 'kept' ? fc.constant({}) : strangeHeaders,
      body: bodyOf(document, operation, known, manner),
      method:
        operation.method === 'GET'
          ? fc.constantFrom('GET', 'GET', 'GET', 'GET', 'HEAD')
          : fc.constant(operation.method),
    })
    .map(({ path, query, own, strange, body, method }) => ({
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: { ...own, ...(body?.type ? { 'content-type': body.type } : {}), ...strange },
      body: body?.text ?? null,
    }));
}

/** A dot segment is left out: it would be the address of another operation. */
const isDots = (segment: string) => /^(?:\.|%2e){1,2}$/i.test(segment);

function pathOf(document: Document, operation: Operation, known: Known, manner: Manner): fc.Arbitrary<string> {
  const parameters = operation.parameters.filter((one) => one.in === 'path');
  if (parameters.length === 0) return fc.constant(operation.path);
  const made = fc.record(
    Object.fromEntries(parameters.map(({ name, schema }) => [name, allowed(document, schema).map(encoded)])),
  );
  const valid = known.paths.length > 0 ? fc.constantFrom(...known.paths) : made;
  const hostile = hostileText.filter((segment) => !isDots(segment));
  const broken = fc
    .tuple(valid, fc.nat(parameters.length - 1), hostile)
    .map(([values, at, text]) => ({ ...values, [parameters[at]?.name ?? '']: text }));
  return (manner === 'kept' ? valid : fc.oneof({ weight: 2, arbitrary: valid }, { weight: 1, arbitrary: broken })).map(
    (values) => operation.path.replace(/\{(\w+)\}/g, (_, name: string) => ascii(values[name] ?? '')),
  );
}

function queryOf(document: Document, operation: Operation, known: Known, manner: Manner): fc.Arbitrary<string> {
  const parameters = operation.parameters.filter((one) => one.in === 'query');
  const pairs = parameters.map((one) => {
    const valid = validValue(document, one, known).map((value) => [[one.name, value]]);
    const optional = one.required === true ? valid : fc.oneof(fc.constant([]), valid);
    if (manner === 'kept') return optional;
    return fc.oneof(
      optional,
      hostileText.map((value) => [[one.name, value]]),
      fc
        .tuple(
          valid,
          fc.oneof(
            valid,
            hostileText.map((value) => [[one.name, value]]),
          ),
        )
        .map((twice) => twice.flat()),
    );
  });
  const stray = fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.tuple(hostileText, hostileText).map(([name, value]) => [[name, value]]) },
  );
  return fc.tuple(...pairs, manner === 'kept' ? fc.constant([]) : stray).map((all) =>
    all
      .flat()
      .map((pair) => pair.map((text) => ascii(text ?? '')).join('='))
      .join('&'),
  );
}

function validValue(document: Document, { name, schema }: Parameter, known: Known): fc.Arbitrary<string> {
  const values = known.query[name] ?? [];
  const made = allowed(document, schema).map(encoded);
  if (values.length === 0) return made;
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...values).map(encoded) }, { weight: 1, arbitrary: made });
}

const encoded = (value: unknown): string =>
  encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed());

/** Encodes a value for an address: it is ASCII, and the value cannot leave its segment or the query. */
const ascii = (text: string): string =>
  text.replace(/[^!$-.0-9:;<=>@A-Z[\]^_`a-z{|}~]/g, (one) => (one === '%' ? one : encodeURIComponent(one)));

function headersOf(document: Document, operation: Operation): fc.Arbitrary<Record<string, string>> {
  const parameters = operation.parameters.filter((one) => one.in === 'header');
  const values = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, allowed(document, schema).map((value) => visible(String(value)))]),
  );
  const requiredKeys = parameters.filter(({ required }) => required === true).map(({ name }) => name);
  return fc.record(values, { requiredKeys }) as fc.Arbitrary<Record<string, string>>;
}

const visible = (text: string): string => text.replace(/[^\x20-\x7e]/g, '').trim();

const strangeHeaders: fc.Arbitrary<Record<string, string>> = fc
  .record(
    {
      accept: fc.constantFrom(
        '*/*',
        'text/plain',
        'application/xml',
        'application/json;q=0',
        'text/event-stream',
        '',
        ',',
      ),
      'accept-encoding': fc.constantFrom('identity', 'gzip', 'br', 'gzip;q=0, *', 'x-unknown', ''),
      'if-none-match': fc.constantFrom('*', '"x"', 'W/"x"', '"a,*,b"', 'x', '"', ', ,'),
      'x-request-id': fc.constantFrom(
        '',
        'x',
        ' 7 ',
        'a'.repeat(500),
        "'; drop",
        '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
      ),
      authorization: fc.constantFrom('', 'Bearer', 'Bearer x', 'Basic eDp5', `Bearer ${'x'.repeat(900)}`),
      origin: fc.constantFrom('http://evil.example', 'null', 'http://localhost', 'x'),
      'sec-fetch-site': fc.constantFrom('cross-site', 'same-origin', 'none', 'x'),
      host: fc.constantFrom('evil.example', '', '127.0.0.1', 'localhost:1', 'a b', 'evil.example/x', 'x@localhost'),
      range: fc.constantFrom('bytes=0-1', 'bytes=9-1', 'x'),
      'last-event-id': fc.constantFrom('', '0', '-1', 'x', '9'.repeat(40)),
      'content-type': fc.constantFrom(
        '',
        'text/plain',
        'application/json; charset=utf-16',
        'multipart/form-data; boundary=x',
        '/',
      ),
      'content-encoding': fc.constantFrom('gzip', 'identity', 'x'),
      'x-http-method-override': fc.constant('DELETE'),
      'x-forwarded-host': fc.constant('evil.example'),
      'x-svc-auth-subject': fc.constantFrom('', 'somebody', 'x'.repeat(3_000)),
    },
    { requiredKeys: [] },
  )
  .chain((all) => fc.subarray(Object.entries(all), { maxLength: 2 }).map((some) => Object.fromEntries(some)));

type Body = { type: string | null; text: string };

function bodyOf(document: Document, operation: Operation, known: Known, manner: Manner): fc.Arbitrary<Body | null> {
  const [described] = Object.entries(operation.requestBody?.content ?? {});
  if (!described)
    return manner === 'kept' ? fc.constant(null) : fc.constantFrom(null, { type: 'application/json', text: '{}' });
  const [type, { schema = {} }] = described as [string, { schema?: Schema }];
  const valid = fc
    .tuple(allowed(document, schema), fc.nat())
    .map(([value, at]) => ({ type, text: JSON.stringify(withKnown(value, known, at)) }));
  const optional = operation.requestBody?.required === true ? valid : fc.option(valid, { freq: 3 });
  if (manner === 'kept') return optional;
  return fc.oneof(
    optional,
    hostileBody(document, schema).map((text) => ({ type, text })),
    fc.record({
      type: fc.constantFrom(null, 'text/plain', 'application/x-www-form-urlencoded'),
      text: hostileBody(document, schema),
    }),
  );
}

/** A body whose session ids exist. */
function withKnown(value: unknown, { query }: Known, at: number): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const values = query[name] ?? [];
      const known = values[at % values.length];
      if (known === undefined || !['session_id', 'sessionIds', 'id'].includes(name)) return [name, one];
      return [name, Array.isArray(one) ? [known] : known];
    }),
  );
}
