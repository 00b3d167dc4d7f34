import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { untilHealthy } from '../../../../core/cassette/admission/health.ts';
import { Rejection, type RunningCassette } from '../../../../core/cassette/running.ts';

const test = suite('health');
const alive = setInterval(() => {}, 1_000); // a deadline alone keeps no process up
test.after(() => clearInterval(alive));
const NEVER = new AbortController().signal;

/** Why it is not let in; null: it is well. */
async function refusal(fetch: RunningCassette['fetch'], eachMs = 5_000): Promise<string | null> {
  try {
    await untilHealthy({ fetch }, '/ping', { tries: 2, eachMs, betweenMs: 1 }, NEVER);
    return null;
  } catch (error) {
    assert.instance(error, Rejection);
    assert.is((error as Rejection).step, 'health');
    return (error as Rejection).message.replace('Cannot take it: it is not healthy at /ping ', '');
  }
}
const problem = (body: string, status = 503) =>
  new Response(body, { status, headers: { 'content-type': 'application/problem+json; charset=utf-8' } });
const withDetail = (detail: unknown) => async () => problem(JSON.stringify({ title: 'No', detail }));

test('it is well when it says so at one of its tries', async () => {
  let requests = 0;
  const answers = async () => {
    requests += 1;
    return requests === 1 ? problem('{"detail":"not yet"}') : new Response(null, { status: 204 });
  };
  assert.is(await refusal(answers), null);
  assert.is(requests, 2);
});

test('a problem tells why by its detail', async () => {
  const detail = 'Cannot search: embedding.dimensions says 768, and the local model has 384';
  assert.is(await refusal(withDetail(detail)), `(it answered 503: ${detail})`);
});

test('a detail is one line of at most 300 characters', async () => {
  assert.is(await refusal(withDetail(' one\n\n two\u001b[2J\u202e three ')), '(it answered 503: one two [2J three)');
  assert.is(await refusal(withDetail('x'.repeat(300))), `(it answered 503: ${'x'.repeat(300)})`);
  assert.is(await refusal(withDetail('x'.repeat(301))), `(it answered 503: ${'x'.repeat(299)}…)`);
});

test('what is no problem, or tells nothing that can be read, is told by its status alone', async () => {
  const text = async () => new Response('{"detail":"secret"}', { status: 500 });
  assert.is(await refusal(text), '(it answered 500)');
  for (const body of ['', 'null', '[]', '{', '{"detail":7}', '{"detail":" "}', `{"detail":"${'x'.repeat(20_000)}"}`])
    assert.is(await refusal(async () => problem(body)), '(it answered 503)', body.slice(0, 20));
});

test('a problem that does not end keeps nobody waiting', async () => {
  const endless = async () => {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"detail":')),
    });
    return new Response(body, { status: 500, headers: { 'content-type': 'application/problem+json' } });
  };
  assert.is(await refusal(endless, 50), '(it answered 500)');
});

test('no answer in time, and one that breaks, are told as such', async () => {
  const silent = ({ signal }: Request) =>
    new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  assert.is(await refusal(silent, 50), '(no answer within 0.05 s)');
  assert.is(await refusal(() => Promise.reject(new Error('it broke off'))), '(it broke off)');
});

test.run();
