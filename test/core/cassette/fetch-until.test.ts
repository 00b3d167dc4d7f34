/** A deadline ends the wait for a cassette that never answers, also when nothing but the wait knows of the request. */
import '../../support/with-gc.ts';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { aborted } from '../../../core/aborted.ts';
import { untilHealthy } from '../../../core/cassette/admission/health.ts';
import { fetchUntil } from '../../../core/cassette/fetch-until.ts';
import { documentText } from '../../../core/cassette/openapi/document-text.ts';

const test = suite('fetchUntil');

/** As one that runs in the service itself. */
const silent = { fetch: (request: Request) => Promise.race([new Promise<never>(() => {}), aborted(request.signal)]) };
const never = new AbortController().signal;
const EACH_MS = 100;

const collecting = setInterval(() => globalThis.gc?.(), 20);
test.after(() => clearInterval(collecting));

const failureOf = (wait: Promise<unknown>): Promise<string> => {
  let late: NodeJS.Timeout | undefined;
  const deadline = new Promise<string>((resolve) => {
    late = setTimeout(resolve, 50 * EACH_MS, 'it still waits');
  });
  const failure = wait.then(
    () => 'it ended well',
    (error: Error) => error.message,
  );
  return Promise.race([failure, deadline]).finally(() => clearTimeout(late));
};

test('a request', async () => {
  const signal = AbortSignal.timeout(EACH_MS);
  assert.match(await failureOf(fetchUntil(silent, '/', { signal })), 'timeout');
});

test('a check of its health', async () => {
  const retries = { tries: 2, eachMs: EACH_MS, betweenMs: 1 };
  assert.match(await failureOf(untilHealthy(silent, '/ping', retries, never)), /no answer within 0\.1 s/);
});

test('its document', async () => {
  const text = documentText(silent, '/openapi', { ms: EACH_MS, signal: never });
  assert.match(await failureOf(text), /it took longer than 0\.1 s/);
});

test.run();
