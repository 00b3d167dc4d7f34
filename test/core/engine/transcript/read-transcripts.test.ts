/** Which transcripts count, and what is in them: the newest whole version of each file, put together out of its parts. */
import * as assert from 'uvu/assert';
import { transcriptCandidates } from '../../../../core/engine/transcript/read-transcripts.ts';
import type { TranscriptWriter } from '../../../../core/engine/transcript/transcript-writer.ts';
import { databaseSuite } from '../../../support/databases.ts';
import {
  harnessFiles,
  inChain,
  inParts,
  keptOf,
  records,
  SESSION,
  testTranscripts,
  type UploadedMessage,
  upload,
  uploadBody,
} from '../../../support/transcript-uploads.ts';

databaseSuite('read transcripts', (test, database) => {
  let writer: TranscriptWriter;
  test.before.each(async () => {
    await database().reset();
    writer = testTranscripts(database());
  });

  /** Uploads, and gives the session of the first. */
  const sessionOf = async (...uploads: UploadedMessage[]): Promise<string> =>
    (await upload(writer, ...uploads))[0]?.session_id ?? '';
  const files = async (session_id: string) =>
    Promise.all(
      (await transcriptCandidates(database(), session_id)).flatMap(({ candidates }) => candidates[0]?.load() ?? []),
    );
  const newest = async (session_id: string) => (await database().execute('transcriptState', { session_id })).newest;

  test('the latest version per tagged identity counts: the main file first, then the agents by id', async () => {
    const session_id = await sessionOf(
      { agent_id: 'b', agent_type: 'Explore', description: 'Look', tool_use_id: 'toolu_1', records: records(1) },
      { records: records(1) },
      { agent_id: 'a', records: records(1) },
      { records: records(2) },
      { agent_id: 'b', agent_type: 'Plan', kind: 'started', records: records(3) },
    );
    const found = await files(session_id);
    assert.equal(
      found.map(({ main, agent_id, raw_turn_id }) => [main, agent_id, raw_turn_id]),
      [
        [true, '', 4],
        [false, 'a', 3],
        [false, 'b', 5],
      ],
    );
    const [main, , b] = found;
    assert.equal(main?.records, records(2));
    assert.equal([main?.harness_id, main?.harness_session_id], [SESSION.harness_id, SESSION.harness_session_id]);
    assert.equal([b?.agent_type, b?.description, b?.tool_use_id, b?.lifecycle_kind], ['Plan', '', '', 'started']);
    assert.match(b?.received_at ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test('rule 4: interacted never supersedes a spawn anchor, nor does any other lifecycle; empty and started are one', async () => {
    const anchor = { agent_id: 'a', tool_use_id: 'toolu_1', records: records(1) };
    const session_id = await sessionOf(
      anchor,
      { ...anchor, kind: 'interacted', tool_use_id: 'toolu_2' },
      { ...anchor, kind: 'completed', tool_use_id: 'toolu_3' },
    );
    const kinds = async () =>
      (await files(session_id)).map(({ lifecycle_kind, tool_use_id }) => [lifecycle_kind, tool_use_id]);
    const others = [
      ['completed', 'toolu_3'],
      ['interacted', 'toolu_2'],
    ];
    assert.equal(await kinds(), [['', 'toolu_1'], ...others]);
    await upload(writer, { ...anchor, kind: 'started', tool_use_id: 'toolu_4', records: records(2) });
    assert.equal(await kinds(), [['started', 'toolu_4'], ...others]);
  });

  test('parts are put together in their order, whichever order they came in', async () => {
    const parts = inParts({ agent_id: 'a', records: records(10) }, 3);
    const session_id = await sessionOf(...[2, 0, 3, 1].flatMap((index) => parts[index] ?? []));
    const [file, ...others] = await files(session_id);
    assert.equal([file?.records, file?.agent_id, file?.raw_turn_id, others], [records(10), 'a', 4, []]);
  });

  test('a file that lacks a part is as if it were not there, and the version before it counts', async () => {
    const [first, ...rest] = inParts({ records: records(10) }, 3);
    const session_id = await sessionOf(...rest);
    assert.equal(await files(session_id), []);
    await upload(writer, { records: records(2) });
    assert.equal((await files(session_id))[0]?.records, records(2));
    if (first) await upload(writer, first);
    const [file] = await files(session_id);
    assert.equal([file?.records.length, file?.raw_turn_id], [10, 5], 'the newest is the one that was whole last');
  });

  test('a newer version counts while an older one is incomplete; the newest is the one whose last part came last', async () => {
    const older = inParts({ records: records(6) }, 3);
    const session_id = await sessionOf(...older.slice(0, 1), ...inParts({ records: records(9) }, 3));
    assert.is((await files(session_id))[0]?.records.length, 9);
    await upload(writer, ...older.slice(1));
    assert.is((await files(session_id))[0]?.records.length, 6, 'late, but whole');
  });

  test('a part that comes again changes nothing; one that comes otherwise counts as it came last', async () => {
    const parts = inParts({ records: records(6) }, 3);
    const session_id = await sessionOf(...parts);
    const again = await upload(writer, ...parts.slice(0, 1));
    assert.equal(
      again.map(({ deduped }) => deduped),
      [true],
    );
    assert.equal((await files(session_id))[0]?.records, records(6));
    await upload(writer, { ...parts[0], records: records(3, 50) });
    const [file] = await files(session_id);
    assert.equal([file?.records, file?.raw_turn_id], [[...records(3, 50), ...records(3, 3)], 3]);
  });

  test('parts of another count are of another version, though of the same file', async () => {
    const [half] = inParts({ records: records(6) }, 3);
    const session_id = await sessionOf(...(half ? [half] : []), ...inParts({ records: records(6) }, 2).slice(1));
    assert.equal(await files(session_id), []);
  });

  test('of a file in chained parts a later version goes on from the parts of an earlier one', async () => {
    const first = inChain({ records: records(10) }, 4);
    const session_id = await sessionOf(...first);
    assert.equal([(await files(session_id))[0]?.records, first.length], [records(10), 3]);
    for (let count = 11; count < 30; count++) {
      await upload(writer, ...inChain({ records: records(count) }, 4).slice(Math.ceil(count / 4) - 2));
      const [file, ...others] = await files(session_id);
      assert.equal([file?.records, others], [records(count), []]);
    }
    const [{ candidates = [] } = {}] = await transcriptCandidates(database(), session_id);
    assert.is(candidates.length, 16);
    assert.equal((await candidates.at(-1)?.load())?.records, records(14));
  });

  test('a later version may go on from what ended an earlier one, however many versions ago', async () => {
    const [whole] = inChain({ records: records(3) }, 3);
    const session_id = await sessionOf(...(whole ? [whole] : []));
    for (let count = 4; count < 24; count++)
      await upload(writer, ...inChain({ records: records(count) }, count - 1).slice(-1));
    assert.equal((await files(session_id))[0]?.records, records(23));
    const grown = inChain({ records: records(6) }, 3);
    await upload(writer, ...grown.slice(-1));
    assert.equal((await files(session_id))[0]?.records, records(6));
  });

  test('what ends a version is refused until all parts before it are here, each file by itself; others come in any order', async () => {
    const [first, second, third, last] = inChain({ records: records(14) }, 4);
    const append = (one: UploadedMessage | undefined) => writer.append(uploadBody(one), null);
    const session_id = await sessionOf({ records: records(1) });
    const refused = {
      kind: 'incomplete',
      error: 'Cannot keep the transcript: records before these are not stored; send the file from its beginning',
    };
    assert.equal(await append(last), refused);
    for (const part of [third, first]) assert.is((await append(part)).kind, 'accepted');
    assert.equal(await append(last), refused);
    for (const other of [{ agent_id: 'a' }, { kind: 'completed' }]) await append({ ...second, ...other });
    await append({ ...second, session: { ...SESSION, harness_session_id: 'another' } });
    assert.equal(await append(last), refused);
    assert.equal((await files(session_id))[0]?.records, records(1));
    await append(second);
    assert.is((await append(last)).kind, 'accepted');
    assert.equal((await files(session_id))[0]?.records, records(14));
    const around = { from_line: 9, prefix_sha256: 'ab'.repeat(32), through_sha256: 'ab'.repeat(32), is_last: true };
    assert.equal(await append({ records: records(2), part: around }), refused, 'a part is never before itself');
  });

  test('after a correction has moved its beginning, a version that goes on from there is refused', async () => {
    const [first, last] = inChain({ records: records(6) }, 4);
    const [{ raw_turn_id = 0 } = {}] = await upload(writer, ...(first ? [first] : []));
    const attribution = {
      harness_id: 'claude',
      harness_session_id: 'another',
      thread_id: '',
      parent_harness_session_id: null,
    };
    const repair = { raw_turn_id, svc_proxy_request_id: null, ...attribution, reason: 'test' };
    const failure = await database()
      .execute('repairAttribution', repair)
      .catch((error: Error) => error);
    assert.match(String(failure), 'it is one of several parts of a transcript');
    await database().sql(`insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at)
      select '00000000-0000-4000-8000-000000000001', 'claude', 'another', '', started_at, last_seen_at from svc.sessions`);
    await database().sql(
      `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, thread_id, reason)
      values ($1, 'link', '00000000-0000-4000-8000-000000000001', '', 'test')`,
      [raw_turn_id],
    );
    assert.is((await writer.append(uploadBody(last), null)).kind, 'incomplete');
  });

  test('the versions of an identity are there newest first, sixteen at most, and read only when asked for', async () => {
    const session_id = await sessionOf(
      ...Array.from({ length: 20 }, (_, n) => ({ agent_id: 'a', records: records(n) })),
    );
    let reads = 0;
    const counted = {
      execute: ((name: string, args: never) => {
        if (name === 'rawTurnBytes') reads++;
        return database().execute(name as 'ping', args);
      }) as ReturnType<typeof database>['execute'],
    };
    const [identity, ...others] = await transcriptCandidates(counted, session_id);
    assert.equal([others.length, identity?.main, identity?.agent_id, identity?.lifecycle], [0, false, 'a', '']);
    assert.equal(
      identity?.candidates.map(({ raw_turn_id }) => raw_turn_id),
      Array.from({ length: 16 }, (_, n) => 20 - n),
    );
    assert.is(reads, 0);
    assert.equal((await identity?.candidates[2]?.load())?.records, records(17));
    assert.is(reads, 1);
  });

  test('a record that is nested too deep stays as text, and the others are read', async () => {
    const deep = `${'['.repeat(2_000)}${']'.repeat(2_000)}`;
    const body = Buffer.from(`{"session":${JSON.stringify(SESSION)},"records":[{"a":1},${deep},"torn {",null]}`);
    const { session_id } = keptOf(await writer.append(new Uint8Array(body), null));
    assert.equal((await files(session_id))[0]?.records, [{ a: 1 }, deep, 'torn {', null]);
  });

  test('a correction moves a file to the session that it counts for', async () => {
    const elsewhere = { ...SESSION, harness_session_id: 'elsewhere' };
    const from = await sessionOf({ records: records(2) }, { agent_id: 'a', records: records(1) });
    const to = await sessionOf({ session: elsewhere, agent_id: 'b', records: records(1) });
    const correct = (raw_turn_id: number, session_id: string) =>
      database().sql(
        `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason) values ($1, 'repair', $2, 'test')`,
        [raw_turn_id, session_id],
      );
    await correct(1, to);
    assert.equal(
      (await files(from)).map(({ agent_id }) => agent_id),
      ['a'],
    );
    const [main, agent] = await files(to);
    assert.equal([main?.main, main?.harness_session_id, agent?.agent_id], [true, 'elsewhere', 'b']);
    assert.equal([await newest(from), await newest(to)], [2, 3]);
    await correct(3, from);
    assert.equal([await newest(from), await newest(to)], [3, 1]);
    await correct(1, from);
    assert.equal([await newest(from), await newest(to)], [3, null]);
  });

  test('a session without transcripts has none', async () => {
    const nobody = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
    assert.equal([await files(nobody), await newest(nobody)], [[], null]);
  });

  test('the files that Claude Code and Codex left are read as they were sent, whole or in parts', async () => {
    for (const harness of ['claude', 'codex'] as const) {
      const uploads = harnessFiles(harness);
      if (uploads.length === 0) continue;
      const session_id = await sessionOf(...uploads.flatMap((file) => inParts(file, 4)));
      const read = async () => (await files(session_id)).map(({ agent_id, records: all }) => [agent_id, all]);
      const sent = uploads.map(({ agent_id = '', records: all }) => [agent_id, all]);
      assert.equal(await read(), sent);
      await upload(writer, ...uploads);
      assert.equal(await read(), sent);
    }
  });
});
