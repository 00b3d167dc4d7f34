import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { stopSignals } from '../../../../core/cli/serve/stop-signals.ts';

const test = suite('stop signals');

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  test(`${signal} asks for a stop, and nobody listens for it afterwards`, async () => {
    const before = process.listenerCount(signal);
    const signals = stopSignals();
    process.emit(signal, signal);
    assert.is(await signals.first, signal);
    signals.close();
    assert.is(process.listenerCount(signal), before);
  });

test('a second one asks not to wait, except for what a closed terminal sends again', async () => {
  const signals = stopSignals();
  let isImpatient = false;
  void signals.second.then(() => {
    isImpatient = true;
  });
  for (const _ of [1, 2, 3]) process.emit('SIGHUP', 'SIGHUP');
  assert.is(await signals.first, 'SIGHUP');
  await sleep(0);
  assert.not.ok(isImpatient);
  process.emit('SIGTERM', 'SIGTERM');
  await signals.second;
  signals.close();
});

test.run();
