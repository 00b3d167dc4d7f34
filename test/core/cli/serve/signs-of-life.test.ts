/** Which silence means that a process is not well. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { signsOfLife } from '../../../../core/cli/serve/signs-of-life.ts';
import type { ProcessState } from '../../../../core/model/status.ts';

const running = (pid: number | undefined): ProcessState[] => [
  { name: 'proxy', state: 'up', since: '2026-11-21T09:30:00Z', restarts: 0, ...(pid === undefined ? {} : { pid }) },
];

const test = suite('signs of life');

test('a process is well that has responded since the last check; each check requests a response', () => {
  let requested = 0;
  const signs = signsOfLife(
    () => running(1),
    () => requested++,
  );
  assert.is(signs.check(), true, 'no response was requested yet');
  assert.is(signs.check(), false);
  signs.heard(1);
  assert.is(signs.check(), true);
  assert.is(signs.check(), false);
  assert.is(requested, 4);
});

test('one that has ended is missed by nobody here, and the next one has until the next time', () => {
  let states = running(1);
  const signs = signsOfLife(
    () => states,
    () => {},
  );
  signs.check();
  states = running(undefined);
  assert.is(signs.check(), true);
  states = running(2);
  assert.is(signs.check(), true);
  assert.is(signs.check(), false);
});

test.run();
