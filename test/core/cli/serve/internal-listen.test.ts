import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { internalOf } from '../../../../core/cli/serve/internal-listen.ts';
import { OperatorError } from '../../../../core/errors.ts';

const test = suite('SVC_INTERNAL_LISTEN');

test('it is there only where the environment asks for it', () => {
  assert.is(internalOf({}), null);
  assert.is(internalOf({ SVC_INTERNAL_TOKEN: 'a-token' }), null);
  const internal = internalOf({ SVC_INTERNAL_LISTEN: ':8092', SVC_INTERNAL_TOKEN: 'a-token' });
  assert.is(internal?.at.port, 8092);
  assert.ok(internal?.at.loopback);
});

test('never without a token, and what is wrong is said without it', () => {
  for (const env of [
    { SVC_INTERNAL_LISTEN: ':8092' },
    { SVC_INTERNAL_LISTEN: ':8092', SVC_INTERNAL_TOKEN: '' },
    { SVC_INTERNAL_LISTEN: ':8092', SVC_INTERNAL_TOKEN: 'two words' },
    { SVC_INTERNAL_LISTEN: 'nowhere', SVC_INTERNAL_TOKEN: 'a-token' },
  ]) {
    const thrown = caught(() => internalOf(env));
    assert.instance(thrown, OperatorError, JSON.stringify(env));
    assert.match((thrown as Error).message, 'SVC_INTERNAL_');
    assert.not.match((thrown as Error).message, /two words|a-token/);
  }
});

const caught = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

test.run();
