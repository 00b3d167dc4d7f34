/** Does the fuzzer see what is wrong with an answer? Each kind of it is shown to it, beside one that is right. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../core/api/app.ts';
import { type Document, operationsOf, schemaCheck } from '../support/openapi-fuzz/document.ts';
import { complaints, type Got } from '../support/openapi-fuzz/exchange.ts';

const test = suite('what the fuzzer sees');

const document = readContract('0') as unknown as Document;
const operation = operationsOf(document).find(({ operationId }) => operationId === 'readSession');
const check = schemaCheck(document);

const ID = '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11';
const AWAY = 'Cannot answer: the database is not available';

/** A 503 as it should be, with other headers or members; undefined takes one away. */
const found = (headers: Record<string, string | undefined> = {}, members: Record<string, unknown> = {}): string[] => {
  assert.ok(operation);
  const problem = { type: 'about:blank', title: 'Service Unavailable', status: 503, code: 'database-unavailable' };
  const body = { ...problem, detail: AWAY, error: AWAY, request_id: ID, ...members };
  const got: Got = {
    status: 503,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-request-id': ID,
      'retry-after': '1',
      date: 'Mon, 27 Jul 2026 10:00:00 GMT',
      ...headers,
    },
    body: Buffer.from(JSON.stringify(body)),
  };
  const present = Object.fromEntries(Object.entries(got.headers).filter(([, value]) => value !== undefined));
  return complaints(
    operation,
    { method: 'GET', path: '/', headers: {}, body: null },
    { ...got, headers: present },
    check,
  );
};

test('an answer as it is described is passed', () => assert.equal(found(), []));

test('a header that is not described is seen', () => {
  assert.match(found({ 'x-powered-by': 'us' }).join(), 'the header x-powered-by is not described');
  assert.match(found({ allow: 'GET' }).join(), 'the header allow is not described', 'of another status');
});

test('a header that is missing is seen, whichever it is', () => {
  for (const name of ['x-request-id', 'retry-after', 'cache-control', 'x-content-type-options'])
    assert.match(found({ [name]: undefined }).join(), `the header ${name} is missing`);
});

test('a header with a value that is not described is seen', () => {
  assert.match(found({ 'retry-after': 'soon' }).join(), 'the header retry-after');
  assert.match(found({ 'x-request-id': 'x' }, { request_id: 'x' }).join(), 'the header x-request-id');
  assert.match(found({ 'x-content-type-options': 'sniff' }).join(), 'the header x-content-type-options');
});

test('a problem that contradicts its answer is seen', () => {
  assert.match(found({}, { status: 500 }).join(), 'its status is 500');
  assert.match(found({}, { request_id: 'another' }).join(), 'its request_id is another');
  assert.match(found({}, { stack: 'at' }).join(), 'stack');
});

test.run();
