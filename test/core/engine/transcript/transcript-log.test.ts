/** Transcripts in the log are held to what holds for every turn there: they can be checked, and they can be purged. */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import { purgeSession } from '../../../../core/engine/purge-session.ts';
import type { TranscriptWriter } from '../../../../core/engine/transcript/transcript-writer.ts';
import { openCheckedSlices } from '../../../../core/engine/verify/checked-slices.ts';
import { verifySession } from '../../../../core/engine/verify/verify-session.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { inParts, records, SESSION, testTranscripts, upload, uploadBody } from '../../../support/transcript-uploads.ts';

databaseSuite('transcripts in the log', (test, database) => {
  let writer: TranscriptWriter;
  test.before.each(async () => {
    await database().reset();
    writer = testTranscripts(database());
  });

  const broken = async (session_id: string) => {
    const verifier = { database: database(), reader: builtIn, slices: openCheckedSlices(database()) };
    const verified = await verifySession(verifier, session_id, null);
    return verified?.first_breaks.map(({ check, session_seq, what }) => `${check} ${session_seq}: ${what}`);
  };
  const tamper = async (statement: string) => {
    await database().sql('alter table svc.raw_turns disable trigger user');
    await database().sql(statement);
    await database().sql('alter table svc.raw_turns enable trigger user');
  };
  const count = async (table: string) =>
    Number((await database().sql(`select count(*) as n from svc.${table}`))[0]?.n ?? -1);
  const call = (n: number) =>
    capturedCall({
      n,
      request: chat('Hello', ...Array.from({ length: n }, (_, i) => `and ${i}`)),
      response: chatAnswer(`answer ${n}`),
      headers: [
        ['x-svc-harness-id', SESSION.harness_id],
        ['x-svc-harness-session-id', SESSION.harness_session_id],
      ],
    });
  /** A call, a file, its growth in parts, a sub-agent's file, and a call. */
  const mixed = async (): Promise<string> => {
    await takeIn(database(), [call(0)]);
    const agent = { agent_id: 'a1', description: 'with\u0000 and \ud800', records: records(1) };
    const [first] = await upload(writer, { records: records(20) }, ...inParts({ records: records(90) }, 40), agent);
    await takeIn(database(), [call(2)]);
    return first?.session_id ?? '';
  };

  test('a chain of calls and transcripts verifies, and a flipped byte in a record is found where it stands', async () => {
    const session_id = await mixed();
    assert.equal(await broken(session_id), []);
    await database().sql(`
      update svc.slices set codec = 0, bytes = set_byte(bytes, 5, get_byte(bytes, 5) # 1)
       where slice_id = sha256(convert_to('${JSON.stringify(records(10, 80)).slice(1, -1)}', 'UTF8'))`);
    const [first, ...others] = (await broken(session_id)) ?? [];
    assert.match(first ?? '', /^bytes 5: /, 'the last part');
    assert.equal(others, []);
  });

  test('what is told of a transcript cannot be changed unnoticed', async () => {
    const session_id = await mixed();
    await tamper(
      `update svc.raw_turns set meta = jsonb_set(meta, '{transcript,agent_id}', '"a2"') where thread_id = 'a1'`,
    );
    assert.equal(await broken(session_id), ['turn 6: its columns and headers do not have its turn_hash']);
    await tamper(
      `update svc.raw_turns set meta = jsonb_set(meta, '{transcript,agent_id}', '"a1"'), source = 'wire' where thread_id = 'a1'`,
    );
    assert.equal(await broken(session_id), ['turn 6: its columns and headers do not have its turn_hash']);
  });

  test('a purge takes the files with the records that nobody else needs; what another session needs stays', async () => {
    const session_id = await mixed();
    const other = { ...SESSION, harness_session_id: 'other' };
    const [kept] = await upload(writer, { session: other, records: records(30) });
    await database().sql(
      `insert into svc.transcript_readings (session_id, read_up_to, read_version, projected, evidence, report)
       values ($1, 1, 1, true, '{}', '{}')`,
      [session_id],
    );
    await database().sql(
      `insert into svc.transcript_calls (session_id, requested_at, call_id, raw_turn_id, digest)
       values ($1, now(), 'tx:1', 1, '')`,
      [session_id],
    );
    const gone = await purgeSession(database().execute, { session_id, reason: 'test' });
    assert.is(gone?.raw_turns, 7);
    assert.equal([await count('transcript_readings'), await count('transcript_calls')], [0, 0]);
    assert.equal(await broken(session_id), []);
    assert.is(await count('raw_turns'), 1);
    const bytes = await database().execute('rawTurnBytes', { raw_turn_id: kept?.raw_turn_id ?? 0 });
    assert.equal(JSON.parse(Buffer.from(bytes?.request ?? []).toString()).records, records(30));
    assert.equal(await broken(kept?.session_id ?? ''), []);
    await purgeSession(database().execute, { session_id: kept?.session_id ?? '', reason: 'test' });
    assert.is(await count('slices'), 0);
  });

  test('after a purge the same records of another session are kept anew, by a writer that remembers them as well', async () => {
    const [first] = await upload(writer, { records: records(200) });
    await purgeSession(database().execute, { session_id: first?.session_id ?? '', reason: 'test' });
    const other = { ...SESSION, harness_session_id: 'other' };
    const [again] = await upload(writer, { session: other, records: records(200) });
    assert.is(again?.deduped, false);
    const bytes = await database().execute('rawTurnBytes', { raw_turn_id: again?.raw_turn_id ?? 0 });
    assert.equal(JSON.parse(Buffer.from(bytes?.request ?? []).toString()).records, records(200));
    assert.equal(await broken(first?.session_id ?? ''), []);
  });

  test("of a purged session no file is stored again: neither the same nor one that has grown, nor a sub-agent's", async () => {
    const session_id = await mixed();
    await purgeSession(database().execute, { session_id, reason: 'test' });
    const other = { session: { ...SESSION, harness_session_id: 'other' }, records: records(2) };
    const verdicts = await Promise.all(
      [
        { records: records(20) },
        { records: records(91) },
        { agent_id: 'a1', records: records(3) },
        ...inParts({ records: records(90) }, 40),
        other,
      ].map((one) => writer.append(uploadBody(one), null)),
    );
    const kinds = verdicts.map(({ kind }) => kind);
    assert.equal(kinds, [...Array<string>(6).fill('purged'), 'accepted']);
    assert.equal([await count('raw_turns'), await broken(session_id)], [1, []]);
    const [queued] = await database().sql('select count(*) as n from svc.derive_queue where session_id = $1', [
      session_id,
    ]);
    assert.is(Number(queued?.n), 0);
  });

  test('a session that retention removed is there again with its file; one that people hide keeps its file', async () => {
    const [first] = await upload(writer, { records: records(5) });
    const session_id = first?.session_id ?? '';
    const due = await database().sql(
      "select session_id, last_seen_at::text, 'retention.days' as reason from svc.sessions",
    );
    await database().execute('beginRemovals', { sessions: due as never });
    await database().execute('removeTurns', { session_ids: [session_id], limit: 10 });
    assert.is(await count('raw_turns'), 0);
    await upload(writer, { records: records(5) });
    await database().execute('endRemovals', { session_ids: [session_id] });
    await upload(writer, { records: records(6) });
    const session = { ...SESSION, harness_session_id: 'hidden' };
    const [hidden] = await upload(writer, { session, records: records(2) });
    await database().execute('deleteSession', { session_id: hidden?.session_id ?? '' });
    await upload(writer, { session, records: records(3) });
    assert.is(await count('raw_turns'), 4);
  });
});
