/** Callers who leave, and answers that come before the end of what is sent, by the thousand: Node ends a connection that resets so many streams. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually } from '../../../support/eventually.ts';
import { withRowTexts } from '../../../support/row-texts.ts';
import { withCassette } from '../../../support/started-cassette.ts';

const test = suite('many leave');

const TIMES = 1_600; // in a few seconds: a thousand and 33 a second are let through
const AT_ONCE = 8;

const many = async (work: (n: number) => Promise<void>) => {
  let next = 0;
  const one = async () => {
    for (let n = next++; n < TIMES; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
};

test('thousands of small uploads are answered by one process', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask, running }) => {
    await many(async (n) => {
      const answer = await ask('/echo', { method: 'POST', body: `${n}` });
      assert.is(await answer.text(), `${n}`);
    });
    assert.is(running.liveness().restarts, 0);
  });
});

test('thousands of answers that come before the end of an upload do not end it', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask, running }) => {
    let cancelled = 0;
    await many(async () => {
      const body = new ReadableStream<Uint8Array>({
        pull: () => new Promise(() => {}),
        cancel() {
          cancelled += 1;
        },
      });
      const answer = await ask('/ping', { method: 'POST', body, duplex: 'half' } as RequestInit);
      assert.is(await answer.text(), 'pong');
    });
    assert.is(running.liveness().restarts, 0);
    await eventually(() => cancelled === TIMES);
  });
});

test('thousands of callers who leave do not end it', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask, readJson, running }) => {
    await many(async () => {
      const left = new AbortController();
      const answer = await ask('/events', { signal: left.signal });
      left.abort(new Error('enough'));
      await answer.text().then(
        () => assert.unreachable(),
        (error) => assert.is(error.message, 'enough'),
      );
    });
    await eventually(async () => (await readJson('/made')).cancelled === TIMES);
    assert.is(running.liveness().restarts, 0);
  });
});

test('thousands of streams of rows that are not read to their end do not end it', async () => {
  let left = 0;
  const DB = withRowTexts({
    query: async () => ({ rows: [], row_count: 0 }),
    async *stream<Row>() {
      try {
        for (let n = 0; ; n++) yield { n } as Row;
      } finally {
        left += 1;
      }
    },
  });
  await withCassette('friendly.mjs', { handed: { DB } }, async ({ readJson, running }) => {
    await many(async () => {
      assert.equal(await readJson('/rows?take=1'), { taken: 1, sum: 0 });
    });
    await eventually(() => left === TIMES);
    assert.is(running.liveness().restarts, 0);
  });
});

test.run();
