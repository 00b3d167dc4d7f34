import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson } from '../../../core/merkle/canonical-json.ts';

const test = suite('canonicalJson');

test('keys are sorted, numbers shortest, strings escaped as little as may be', () => {
  // the example of RFC 8785, section 3.2.2
  const value = {
    numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: '\u20ac$\u000f\u000aA\'\u0042\u0022\u005c\\"/',
    literals: [null, true, false],
  };
  assert.is(
    canonicalJson(value),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

test('undefined members are left out', () => {
  assert.is(canonicalJson({ b: undefined, a: 1 }), '{"a":1}');
  assert.is(canonicalJson(undefined), 'null');
});

test.run();
