/** A page of turns gives each turn's exact bytes in whatever order they are read, in few queries where it is the page's own. */
import * as assert from 'uvu/assert';
import type { Database } from '../../../core/db/database.ts';
import { openStoredSlices } from '../../../core/engine/cached-slices.ts';
import { turnsInOrder } from '../../../core/engine/turns-in-order.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';

const LENGTHS = [3, 41, 43, 57, 59, 121]; // messages of each call; from 17 pieces on a request has pages

databaseSuite('bytes of turns in their order', (test, database) => {
  test.before.each(() => database().reset());

  const takenIn = async () => {
    const words = Array.from({ length: 121 }, (_, i) => `word ${i}`);
    const calls = LENGTHS.map((length, n) =>
      capturedCall({
        n,
        request: chat(...words.slice(0, length)),
        response: chatAnswer(`answer ${n}`),
        headers: [['x-svc-harness-session-id', 'long']],
      }),
    );
    const stored = await takeIn(database(), calls);
    return { calls, ids: stored.map(({ raw_turn_id }) => raw_turn_id) };
  };

  /** The page as it is read, and how many queries for slices it has taken so far. */
  const opened = async (ids: readonly number[]) => {
    const turns = ids.map((raw_turn_id) => ({ raw_turn_id }));
    let queries = 0;
    const execute: Database['execute'] = (name, args) => {
      if (name === 'slicesUpTo') queries++;
      return database().execute(name, args);
    };
    const slices = openStoredSlices({ execute });
    return { bytesOf: await turnsInOrder({ execute }, turns, slices), queries: () => queries };
  };

  test('in their own order and backwards, each with its bodies and headers', async () => {
    const { calls, ids } = await takenIn();
    for (const order of [ids, [...ids].reverse(), [...ids, ...ids]]) {
      const { bytesOf } = await opened(ids);
      for (const id of order) {
        const call = calls[ids.indexOf(id)];
        const bytes = await bytesOf(id);
        assert.equal(Buffer.from(bytes?.request ?? []), Buffer.from(call?.request ?? []));
        assert.equal(Buffer.from(bytes?.response ?? []), Buffer.from(call?.response ?? []));
        assert.equal(
          [bytes?.request_headers, bytes?.response_headers],
          [call?.opened.headers, call?.responseHead?.headers],
        );
      }
    }
  });

  test('all slices are read with the first turn', async () => {
    const { ids } = await takenIn();
    const { bytesOf, queries } = await opened(ids);
    for (const id of ids) await bytesOf(id);
    assert.is(queries(), 2, 'one for the pages of the recipes, one for all else');
  });

  test('a turn that is gone is null, and one that lacks a slice fails where it is read', async () => {
    const { calls, ids } = await takenIn();
    const [first, , third, , fifth, last] = ids;
    // the answer of the third, and a page of the last one's recipe, which is read ahead
    await database()
      .sql('set session_replication_role = replica')
      .catch(() => null);
    await database().sql(
      `delete from svc.slices where slice_id = (select response_slice from svc.raw_turns where raw_turn_id = ${third})`,
    );
    await database().sql(
      `delete from svc.slices where slice_id = (select substring(request_pages for 32 from octet_length(request_pages) - 63) from svc.raw_turns where raw_turn_id = ${last})`,
    );
    const { bytesOf } = await opened([...ids, 4711]);
    assert.is(await bytesOf(4711), null);
    const outcomeOf = (id: number | undefined) =>
      bytesOf(id ?? 0).then(
        (bytes) => Buffer.from(bytes?.request ?? []).equals(Buffer.from(calls[ids.indexOf(id ?? 0)]?.request ?? [])),
        (error: Error) => error.message.replace(/[0-9a-f]{64}/, '<id>'),
      );
    const lacking = 'Cannot put a raw turn together: slice <id> is not stored';
    assert.equal(
      [await outcomeOf(first), await outcomeOf(third), await outcomeOf(fifth), await outcomeOf(last)],
      [true, lacking, true, lacking],
    );
  });
});
