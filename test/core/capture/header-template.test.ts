/** Headers come back exactly; calls that differ in what changes from call to call share one template. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { headersFrom, headerTemplate } from '../../../core/capture/header-template.ts';
import type { HeaderList } from '../../../core/model/headers.ts';

const test = suite('header template');

test('any headers come back in their order, with their case and their repetitions', () => {
  const name = fc.oneof(
    fc.constantFrom('Date', 'content-length', 'X-Request-Id', 'cf-ray', 'set-cookie', 'Accept'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string())), (headers) => {
      const { bytes, values } = headerTemplate(headers);
      assert.equal(headersFrom(bytes, values), headers);
    }),
  );
});

test('what changes from call to call is left open', () => {
  const call = (n: number): HeaderList => [
    ['Content-Type', 'application/json'],
    ['Content-Length', `${100 + n}`],
    ['X-Stainless-Retry-Count', `${n}`],
    ['anthropic-ratelimit-unified-reset', `${n}`],
    ['request-id', `req_${n}`],
    ['Date', `day ${n}`],
  ];
  const [one, two] = [headerTemplate(call(1)), headerTemplate(call(2))];
  assert.is(one.slice_id, two.slice_id);
  assert.equal(two.values, ['102', '2', '2', 'req_2', 'day 2']);
  assert.is.not(headerTemplate([...call(1), ['Accept', '*/*']]).slice_id, one.slice_id);
});

test.run();
