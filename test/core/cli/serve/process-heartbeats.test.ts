/** Which silence means that a process is not well. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { processHeartbeats } from '../../../../core/cli/serve/process-heartbeats.ts';
import type { ProcessState } from '../../../../core/model/status.ts';

const running = (pid: number | undefined): ProcessState[] => [
  { name: 'proxy', state: 'up', since: '2026-11-21T09:30:00Z', restarts: 0, ...(pid === undefined ? {} : { pid }) },
];

const test = suite('heartbeats of processes');

test('a process is well that has responded since the last check; each check requests a response', () => {
  let requested = 0;
  const heartbeats = processHeartbeats(
    () => running(1),
    () => requested++,
  );
  assert.is(heartbeats.check(), true, 'no response was requested yet');
  assert.is(heartbeats.check(), false);
  heartbeats.beat(1);
  assert.is(heartbeats.check(), true);
  assert.is(heartbeats.check(), false);
  assert.is(requested, 4);
});

test('one that has ended is missed by nobody here, and the next one has until the next time', () => {
  let states = running(1);
  const heartbeats = processHeartbeats(
    () => states,
    () => {},
  );
  heartbeats.check();
  states = running(undefined);
  assert.is(heartbeats.check(), true);
  states = running(2);
  assert.is(heartbeats.check(), true);
  assert.is(heartbeats.check(), false);
});

test.run();
