/** Everything derived can be thrown away: deriving again gives the same rows, byte for byte, and the same on both databases. */
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { capturedCall, chat, chatAnswer, recordedJournalCalls, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { generatedCalls } from '../../../support/generated-calls.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

/** Every table that holds nothing but what can be derived. */
const DERIVED = ['calls', 'nodes', 'session_rollups', 'traces', 'spans', 'span_links', 'derive_states'];

const recorded = await recordedJournalCalls();
const generated = fc.sample(generatedCalls({ minLength: 8, maxLength: 40 }), { numRuns: 8, seed: 20_261_121 });
let dumpOfTheOther: string[] | null = null;

databaseSuite('rebuild', (test, database) => {
  test('deleting every derived row and deriving again gives an identical dump', async () => {
    await storeEverything(database());
    await deriveAll(database());
    const first = await dump(database());
    assert.ok(first.length > 100, 'there is something to compare');

    const tables = DERIVED.map((table) => `svc.${table}`).join(', ');
    await database().sql(`truncate ${tables}`);
    assert.is((await dump(database())).length, 0);
    await database().execute('markFromScratch', { session_id: null });
    await deriveAll(database());
    const again = await dump(database());
    assert.equal(again, first);

    assert.equal(first, dumpOfTheOther ?? first, 'both databases derive the same rows');
    dumpOfTheOther = first;
  });
});

/** Recorded and generated sessions that their harness names, and chats that only their content tells apart, with a fork. */
async function storeEverything(database: TestDatabase): Promise<void> {
  if (recorded) await takeIn(database, recorded);
  for (const [i, calls] of generated.entries())
    await storeCalls(
      database,
      calls.map((call, n) => journalCall(`generated-${i}`, { ...call, call_id: `g${i}-${call.call_id ?? n}` })),
    );
  await takeIn(database, [
    capturedCall({ n: 1000, request: chat('Hello') }),
    capturedCall({ n: 1001, request: chat('Hello') }),
    capturedCall({ n: 1002, request: chat('Hello', 'ok', 'More'), response: chatAnswer('More it is') }),
    capturedCall({ n: 1003, request: chat('Hello', 'ok', 'More', 'More it is', 'Left'), response: chatAnswer('Left') }),
    capturedCall({
      n: 1004,
      request: chat('Hello', 'ok', 'More', 'More it is', 'Right'),
      response: chatAnswer('Right'),
    }),
    capturedCall({ n: 1005, request: Buffer.from('{"torn'), closed: null }),
    capturedCall({
      n: 1006,
      request: chat('Hopeless'),
      status: 529,
      response: '{"error":{"message":"no","type":"overloaded"}}',
    }),
  ]);
}

async function dump(database: TestDatabase): Promise<string[]> {
  const rows: string[] = [];
  for (const table of DERIVED) {
    const found = await database.sql(`select (to_jsonb(x) - 'rev')::text as row from svc.${table} x order by 1`);
    rows.push(...found.map(({ row }) => `${table} ${row}`));
  }
  return rows;
}
