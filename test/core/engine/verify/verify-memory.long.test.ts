/** However long a session is, checking it takes the memory of a few turns. */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import { collect } from '../../../../core/collect-garbage.ts';
import { openCheckedSlices } from '../../../../core/engine/verify/checked-slices.ts';
import { verifySession } from '../../../../core/engine/verify/verify-session.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import '../../../support/with-gc.ts';

const TURNS = 2_000;
const ANSWER_BYTES = 60_000;

/** Bytes, without garbage: how long that is kept differs between versions of V8. */
function inUse(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

databaseSuite('verifySession: memory stays flat', (test, database) => {
  test('2,000 turns with 120 MB of answers keep less than 60 MB in use', async () => {
    await storeLarge(database());
    const [row] = await database().sql('select session_id, turn_count from svc.sessions');
    assert.is(row?.turn_count, TURNS);
    const before = inUse();
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, inUse());
    }, 200);
    const verifier = { database: database(), reader: builtIn, slices: openCheckedSlices(database()) };
    const verified = await verifySession(verifier, String(row?.session_id), null);
    clearInterval(watch);
    assert.equal([verified?.breaks, verified?.turns, verified?.nodes], [0, TURNS, TURNS * 2]);
    assert.ok((verified?.bytes ?? 0) > TURNS * ANSWER_BYTES);
    assert.ok(peak - before < 60_000_000, `${peak - before} bytes`);
  });
});

/** One session, named by its harness, of calls that share nothing. */
async function storeLarge(database: TestDatabase): Promise<void> {
  const headers: [string, string][] = [
    ['x-svc-harness-id', 'mill'],
    ['x-svc-harness-session-id', 'large'],
  ];
  for (let from = 0; from < TURNS; from += 100) {
    const calls = Array.from({ length: 100 }, (_, i) => {
      const response = chatAnswer(`Answer ${from + i} `.repeat(ANSWER_BYTES / 8).slice(0, ANSWER_BYTES));
      return capturedCall({ n: from + i, request: chat(`Question ${from + i}`), response, headers });
    });
    await takeIn(database, calls);
  }
}
