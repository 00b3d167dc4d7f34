/** Headers in one setting: as other programs read them, and nothing that could end a header. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { headerListProblem, parseHeaderList } from '../../../core/config/header-list.ts';

const test = suite('header list');

test('names and values, percent-encoded where need be', () => {
  assert.equal(parseHeaderList(''), {});
  assert.equal(parseHeaderList('Authorization=Basic%20YWJj%3D, x-one=a=b'), {
    authorization: 'Basic YWJj=',
    'x-one': 'a=b',
  });
});

test('what is no header is refused, without being quoted', () => {
  for (const text of ['secret', '=secret', 'a b=secret', 'x=%zz', 'x=secret%0d%0ay: z', 'x=1,', 'x=%E2%82%AC'])
    assert.is(headerListProblem(text), "must be a list of 'name=value', with commas between", text);
});

test.run();
