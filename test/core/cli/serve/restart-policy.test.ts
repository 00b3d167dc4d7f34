import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { restartPolicy } from '../../../../core/cli/serve/restart-policy.ts';

const test = suite('restartPolicy');
const DOWN_MS = 60_000;

test('the first end is answered at once, the next four soon, and from the sixth on once a minute', () => {
  const policy = restartPolicy(DOWN_MS);
  const ends = Array.from({ length: 8 }, (_, i) => {
    policy.ready(i * 100);
    return policy.ended(i * 100 + 50);
  });
  assert.equal(
    ends.map(({ down }) => down),
    [false, false, false, false, false, true, true, true],
  );
  assert.is(ends[0]?.delayMs, 0);
  assert.ok(ends.slice(1, 5).every(({ delayMs }) => delayMs > 0 && delayMs <= 2_000));
  assert.ok(ends.slice(5).every(({ delayMs }) => delayMs === DOWN_MS));
});

test('a minute of health is counted anew; a minute in which it never served is not', () => {
  const healthy = restartPolicy(DOWN_MS);
  for (let i = 0; i < 5; i++) healthy.ended(i);
  healthy.ready(1_000);
  assert.equal(healthy.ended(61_000), { delayMs: 0, down: false });

  const nearly = restartPolicy(DOWN_MS);
  for (let i = 0; i < 5; i++) nearly.ended(i);
  nearly.ready(1_000);
  assert.is(nearly.ended(60_999).down, true);

  const never = restartPolicy(DOWN_MS);
  for (let i = 0; i < 5; i++) never.ended(i);
  assert.is(never.ended(600_000).down, true);
});

test('who may never be down starts at once whenever it has served, and later and later while it has not', () => {
  const policy = restartPolicy(null);
  for (let i = 0; i < 50; i++) {
    policy.ready(i * 100);
    assert.equal(policy.ended(i * 100 + 50), { delayMs: 0, down: false });
  }
  const failed = Array.from({ length: 8 }, (_, i) => policy.ended(10_000 + i));
  assert.ok(failed.every(({ down }) => !down));
  assert.ok(failed.every(({ delayMs }, i) => delayMs >= (failed[i - 1]?.delayMs ?? 0)));
  assert.is(failed.at(-1)?.delayMs, 1_000);
});

test.run();
