/** Uploads that come at the same time share a transaction, and none of them pays for another. */
import * as assert from 'uvu/assert';
import type { Database } from '../../../../core/db/database.ts';
import type { TranscriptBatch } from '../../../../core/db/store/append-transcripts.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { databaseSuite } from '../../../support/databases.ts';
import {
  inParts,
  keptOf,
  records,
  SESSION,
  testTranscripts,
  upload,
  uploadBody,
} from '../../../support/transcript-uploads.ts';

databaseSuite('transcript queue', (test, database) => {
  test.before.each(() => database().reset());

  const session = (n: number) => ({ ...SESSION, harness_session_id: `session-${n}` });
  const bodyOf = (n: number) => uploadBody({ session: session(n), records: records(5, n * 100) });
  const count = async (table: string) =>
    Number((await database().sql(`select count(*) as n from svc.${table}`))[0]?.n ?? -1);

  /** The database, with the sessions of each batch that it is sent. `refuses`: the session whose transcript it does not take. */
  function observed(refuses = '') {
    const batches: string[][] = [];
    const execute = ((name: string, args: never) => {
      if (name === 'appendTranscripts') {
        const { transcripts } = args as TranscriptBatch;
        const sessions = transcripts.map(({ turn }) => turn.identity.harness_session_id);
        batches.push(sessions);
        if (sessions.includes(refuses)) return Promise.reject(new DatabaseError('refused', '22P05', false));
      }
      return database().execute(name as 'ping', args);
    }) as Database['execute'];
    return { batches, writer: testTranscripts({ ...database(), execute }) };
  }

  test('what comes while a batch is stored is stored together, each to the byte', async () => {
    const { batches, writer } = observed();
    const verdicts = await Promise.all(Array.from({ length: 12 }, (_, n) => writer.append(bodyOf(n), null)));
    assert.ok(batches.length <= 4, `${batches.length} batches`);
    for (const [n, verdict] of verdicts.entries()) {
      const { raw_turn_id, deduped } = keptOf(verdict);
      const bytes = await database().execute('rawTurnBytes', { raw_turn_id });
      assert.equal([deduped, Buffer.from(bytes?.request ?? [])], [false, Buffer.from(bodyOf(n))]);
    }
    assert.equal([await count('raw_turns'), await count('derive_queue')], [12, 12]);
  });

  test('files of one session never share a transaction, and are stored in their order', async () => {
    const { batches, writer } = observed();
    const parts = inParts({ session: session(1), records: records(40) }, 10);
    await Promise.all([...parts.map((part) => writer.append(uploadBody(part), null)), writer.append(bodyOf(2), null)]);
    assert.ok(batches.every((sessions) => new Set(sessions).size === sessions.length));
    const stored = await database().sql(`
      select (meta #>> '{transcript,part,index}')::integer as index from svc.raw_turns
       where harness_session_id = 'session-1' order by raw_turn_id`);
    assert.equal(
      stored.map(({ index }) => index),
      [0, 1, 2, 3],
    );
  });

  test('one that the database refuses fails no other', async () => {
    const { writer } = observed('session-5');
    const verdicts = await Promise.all(Array.from({ length: 8 }, (_, n) => writer.append(bodyOf(n), null)));
    assert.equal(
      verdicts.flatMap(({ kind }, n) => (kind === 'unstorable' ? n : [])),
      [5],
    );
    assert.is(await count('raw_turns'), 7);
  });

  test('of one that is stored already nothing is written, though others of its batch are', async () => {
    const { batches, writer } = observed();
    await upload(writer, { session: session(1), records: records(5, 100) });
    await upload(writer, { session: session(2), records: records(5, 200) });
    const before = await count('slices');
    const again = uploadBody({ session: { ...session(2), name: 'named since' }, records: records(5, 200) });
    batches.length = 0;
    const verdicts = await Promise.all(
      [3, 4, 6].map((n) => writer.append(bodyOf(n), null)).concat(writer.append(again, null)),
    );
    assert.ok(batches.some((sessions) => sessions.join() === 'session-6,session-2')); // a batch before it may be slower
    const own = await count('slices');
    assert.equal(
      verdicts.map((verdict) => keptOf(verdict).deduped),
      [false, false, false, true],
    );
    const fresh = testTranscripts(database());
    await upload(fresh, { session: session(5), records: records(5, 500) });
    const each = (await count('slices')) - own;
    assert.is(own - before, 3 * each, 'the slices of the three that are new');
  });
});
