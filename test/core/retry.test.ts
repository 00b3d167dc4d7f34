/** Does a retry wait longer each time, and end at the signal? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openBackoff, retry } from '../../core/retry.ts';

const test = suite('retry');
const QUICK = { firstMs: 1, maxMs: 4 };
const HOUR = { firstMs: 3_600_000, maxMs: 3_600_000 };

/** Work that fails so often before it succeeds. */
function failing(times: number) {
  const work = {
    attempts: 0,
    async run(): Promise<number> {
      work.attempts++;
      if (work.attempts <= times) throw new Error(`attempt ${work.attempts}`);
      return work.attempts;
    },
  };
  return work;
}

test('the waits double up to the bound, and begin anew after a success', () => {
  const backoff = openBackoff({ firstMs: 100, maxMs: 350 });
  assert.equal([backoff.next(), backoff.next(), backoff.next(), backoff.next()], [100, 200, 350, 350]);
  backoff.reset();
  assert.is(backoff.next(), 100);
});

test('a first wait above the bound is the bound', () => {
  const backoff = openBackoff({ firstMs: 500, maxMs: 100 });
  assert.equal([backoff.next(), backoff.next()], [100, 100]);
});

test('what fails for a while is tried until it succeeds, and each failure is reported', async () => {
  const work = failing(3);
  const seen: string[] = [];
  const onFailure = (error: unknown) => seen.push((error as Error).message);
  assert.is(await retry(work.run, { ...QUICK, signal: new AbortController().signal, onFailure }), 4);
  assert.equal(seen, ['attempt 1', 'attempt 2', 'attempt 3']);
});

test('what a retry cannot help is thrown at once, unreported', async () => {
  const work = failing(9);
  const seen: unknown[] = [];
  const error = await retry(work.run, {
    ...QUICK,
    signal: new AbortController().signal,
    isRetryable: (failure) => (failure as Error).message !== 'attempt 2',
    onFailure: (failure) => seen.push(failure),
  }).catch((failure: unknown) => failure);
  assert.is((error as Error).message, 'attempt 2');
  assert.is(work.attempts, 2);
  assert.is(seen.length, 1);
});

test('the signal ends the wait with the error of the last attempt', async () => {
  const work = failing(9);
  const stopping = new AbortController();
  const running = retry(work.run, {
    ...HOUR,
    signal: stopping.signal,
    onFailure: () => setImmediate(() => stopping.abort()),
  });
  const error = await running.catch((failure: unknown) => failure);
  assert.is((error as Error).message, 'attempt 1');
  assert.is(work.attempts, 1);
});

test.run();
