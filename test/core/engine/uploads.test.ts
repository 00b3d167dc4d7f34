/** Derivation waits for uploads, but not for ever. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openUploads } from '../../../core/engine/uploads.ts';

const test = suite('uploads');

const never = new AbortController().signal;
const FAR_MS = 60_000;

/** Work that ends when it is told to. */
function work() {
  let end = () => {};
  const ended = new Promise<void>((done) => {
    end = done;
  });
  return { run: () => ended, end };
}

/** Whether a promise has resolved after a while. */
async function resolvedAfter(ms: number, promise: Promise<void>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => {
    resolved = true;
  });
  await new Promise((done) => setTimeout(done, ms));
  return resolved;
}

test('without uploads nobody waits', async () => {
  assert.ok(await resolvedAfter(0, openUploads().passed(FAR_MS, never)));
});

test('who waits goes on once no upload is under way, also where one has failed', async () => {
  const uploads = openUploads();
  const [one, other] = [work(), work()];
  const all = [uploads.storing(one.run), uploads.storing(other.run)];
  const failed = uploads.storing(() => Promise.reject(new Error('refused'))).catch((error: Error) => error.message);
  assert.is(await failed, 'refused');
  const passed = uploads.passed(FAR_MS, never);
  one.end();
  assert.not(await resolvedAfter(100, passed));
  other.end();
  await Promise.all(all);
  await passed;
});

test('the moment between two uploads of a sender is no end of them', async () => {
  const uploads = openUploads();
  const passed = uploads.passed(FAR_MS, never);
  await passed;
  await uploads.storing(async () => {});
  const between = uploads.passed(FAR_MS, never);
  const next = work();
  const stored = uploads.storing(next.run);
  assert.not(await resolvedAfter(100, between));
  next.end();
  await Promise.all([stored, between]);
});

test('where uploads never cease the wait ends after its time, and at the signal', async () => {
  const uploads = openUploads();
  const endless = work();
  void uploads.storing(endless.run);
  const began = performance.now();
  await uploads.passed(50, never);
  assert.ok(performance.now() - began >= 45);
  const stopping = new AbortController();
  const passed = uploads.passed(FAR_MS, stopping.signal);
  stopping.abort();
  await passed;
  await uploads.passed(FAR_MS, stopping.signal);
  endless.end();
});

test.run();
