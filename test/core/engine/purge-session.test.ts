/** While some write and others purge, no turn may ever refer to a slice that is gone, whatever a writer remembers. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { sessionId } from '../../../core/call/identity.ts';
import type { Database } from '../../../core/db/database.ts';
import { openDatabase } from '../../../core/db/open.ts';
import { purgeSession } from '../../../core/engine/purge-session.ts';
import { openLog } from '../../../core/log.ts';
import { capturedCall, chat, chatAnswer } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { ingestBody, testIngest } from '../../support/ingested-turns.ts';
import { assertWhole } from '../../support/stored-bytes.ts';

const SESSIONS = 4;
const session = (n: number) => sessionId('test', `s${n % SESSIONS}`);

/** Long enough for pages; what all sessions hold, and what only this one does. */
const body = (n: number) => {
  const shared = Array.from({ length: 20 }, (_, i) => `shared ${i}`);
  const own = Array.from({ length: 20 }, (_, i) => `session ${n % SESSIONS} says ${i}`);
  return ingestBody(
    capturedCall({
      n,
      request: chat(...shared, ...own, `turn ${n % 12}`),
      response: chatAnswer(`answer ${n % 12}`),
      headers: [
        ['x-svc-harness-id', 'test'],
        ['x-svc-harness-session-id', `s${n % SESSIONS}`],
      ],
    }),
  );
};

databaseSuite('purging while others write', (test, database) => {
  /** Another process: nothing of it is shared but the database. */
  const second = async (): Promise<Database> => {
    const { dsn } = database();
    if (dsn === undefined) return { ...database(), close: async () => {} };
    return openDatabase({ dsn, pooled: false, folder: '', log: openLog('silent') });
  };

  /** Between asking what is stored and storing the rest some time passes, in which a purge may come. */
  const slow = (real: Database): Database => ({
    ...real,
    execute: (async (name, args) => {
      if (name === 'appendTurns') await sleep(10);
      return real.execute(name, args);
    }) as Database['execute'],
  });

  test.before.each(() => database().reset());

  test('every turn reads back whole after writers and purges that ran into each other', async () => {
    const other = await second();
    try {
      const engines = [await testIngest(slow(database())), await testIngest(slow(other))];
      const write = async (engine: number) => {
        for (let n = 0; n < 60; n++) {
          const verdict = await engines[engine]?.append(body(engine * 1000 + n), null);
          assert.is(verdict?.kind, 'accepted', JSON.stringify(verdict));
        }
      };
      let writing = true;
      const purge = async () => {
        let purged = 0;
        for (let n = 0; writing; n++) {
          const gone = await purgeSession(other.execute, { session_id: session(n), reason: 'test' });
          purged += gone?.raw_turns ?? 0;
        }
        return purged;
      };
      const purging = purge();
      await Promise.all([write(0), write(1)]).finally(() => {
        writing = false;
      });
      const purged = await purging;
      await deriveAll(database());
      const left = await assertWhole(database());
      assert.is(left + purged, 120);
      assert.ok(purged > 10, `${purged} were purged`);
    } finally {
      await other.close();
    }
  });

  test('what a writer remembers as stored is sent again after a purge by another', async () => {
    const writer = await testIngest(database());
    await writer.append(body(0), null);
    const gone = await purgeSession(database().execute, { session_id: session(0), reason: 'test' });
    assert.is(gone?.raw_turns, 1);
    assert.ok((gone?.slices ?? 0) > 40);
    assert.equal(await database().sql('select slice_id from svc.slices'), [], 'nothing is left');
    const again = await writer.append(body(12), null);
    assert.is(again.kind, 'accepted');
    assert.is(await assertWhole(database()), 1);
  });

  test('a reading that a purge overtook puts no nodes in place', async () => {
    const writer = await testIngest(database());
    await writer.append(body(0), null);
    const { purges } = await database().execute('knownSlices', { ids: [] });
    await purgeSession(database().execute, { session_id: session(0), reason: 'test' });
    const reading = { session_id: session(0), read_up_to: 9_999, calls: [], nodes: [], slices: [], corrections: 0 };
    const { purges: now } = await database().execute('knownSlices', { ids: [] });
    assert.ok(await database().execute('replaceNodes', { ...reading, purges: now }));
    try {
      await database().execute('replaceNodes', { ...reading, purges });
      assert.unreachable('it was put in place');
    } catch (error) {
      assert.equal((error as { sqlstate?: string }).sqlstate, 'SVC01');
    }
  });

  test('turns that come in after a purge has begun are no part of it', async () => {
    const writer = await testIngest(database());
    await writer.append(body(0), null);
    const opened = await database().execute('openPurge', { session_id: session(0) });
    await writer.append(body(4), null);
    const gone = await database().execute('purgeSession', {
      session_id: session(0),
      up_to: opened?.up_to ?? 0,
      made: [],
      reason: 'test',
    });
    assert.is(gone.raw_turns, 1);
    assert.ok(gone.slices_shared > 40, 'the later turn needs what it shares with the first');
    await deriveAll(database());
    assert.is(await assertWhole(database()), 1);
  });
});
