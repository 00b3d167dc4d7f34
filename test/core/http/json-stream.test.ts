import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { onError } from '../../../core/http/failure.ts';
import { elements, jsonStream } from '../../../core/http/json-stream.ts';
import { routes } from '../../../core/http/routes.ts';

const test = suite('jsonStream');

const streaming = (pieces: () => AsyncGenerator<string, void>) => {
  const log: string[] = [];
  const logger = pino({}, { write: (line: string) => void log.push(line) });
  const app = routes();
  app.onError(onError(logger));
  app.get('/it', (c) => jsonStream(c, pieces(), logger));
  return { app, log };
};

async function* document(members: number, seen: { made: number }): AsyncGenerator<string, void> {
  yield '{"items":[';
  yield* elements(
    (function* () {
      for (let n = 0; n < members; n++) {
        seen.made++;
        yield { n, text: 'ä'.repeat(1000) };
      }
    })(),
  );
  yield ']}';
}

test('what is sent is the document, small or large', async () => {
  for (const members of [0, 1, 3, 1000]) {
    const { app } = streaming(() => document(members, { made: 0 }));
    const response = await app.request('/it');
    assert.is(response.headers.get('content-type'), 'application/json');
    const { items } = (await response.json()) as { items: { n: number }[] };
    assert.equal(
      items.map(({ n }) => n),
      Array.from({ length: members }, (_, n) => n),
    );
  }
});

test('no more is made than the reader takes, and nothing once it has left', async () => {
  const seen = { made: 0 };
  const { app } = streaming(() => document(100_000, seen));
  const reader = (await app.request('/it')).body?.getReader();
  await reader?.read();
  await reader?.read();
  const then = seen.made;
  assert.ok(then < 1_000, `${then} members made for two chunks`);
  await reader?.cancel();
  await new Promise((done) => setTimeout(done, 20));
  assert.is(seen.made, then);
});

test('what fails in the first 64 KiB is an ordinary failure', async () => {
  const { app } = streaming(async function* () {
    yield '{"items":[';
    throw new Error('secret');
  });
  const response = await app.request('/it');
  assert.is(response.status, 500);
  assert.not.match(await response.text(), 'secret');
});

test('what fails later cuts the answer and is logged, without its words', async () => {
  const { app, log } = streaming(async function* () {
    yield `{"items":["${'x'.repeat(100_000)}"`;
    throw new Error('secret');
  });
  const response = await app.request('/it');
  assert.is(response.status, 200);
  const error = await response.text().then(
    () => null,
    (thrown: Error) => thrown,
  );
  assert.ok(error);
  assert.not.match(String(error), 'secret');
  assert.match(log.join(''), 'Cannot finish an answer');
  assert.not.match(log.join(''), 'secret');
});

test.run();
