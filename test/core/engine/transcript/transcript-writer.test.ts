/** The seed's rules for transcript rows: what is kept of an upload, once, in which session, and what follows from it. */
import { createHash } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Database } from '../../../../core/db/database.ts';
import type { TranscriptWriter } from '../../../../core/engine/transcript/transcript-writer.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import type { Identity } from '../../../../core/model/identity.ts';
import type { TranscriptSummary } from '../../../../core/model/transcript-upload.ts';
import { capturedCall, chat, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import {
  harnessFiles,
  inChain,
  inParts,
  keptOf,
  record,
  records,
  SESSION,
  testTranscripts,
  type UploadedMessage,
  upload,
  uploadBody,
} from '../../../support/transcript-uploads.ts';

const NOW = '2026-11-21T09:00:00.000000Z';

const sha256 = (of: string) => createHash('sha256').update(of).digest('hex');

databaseSuite('transcript writer', (test, database) => {
  let writer: TranscriptWriter;
  test.before.each(async () => {
    await database().reset();
    writer = testTranscripts(database(), () => NOW);
  });

  const rows = () => database().sql('select * from svc.raw_turns order by raw_turn_id');
  const count = async (table: string) =>
    Number((await database().sql(`select count(*) as n from svc.${table}`))[0]?.n ?? -1);
  const only = async (text: string): Promise<Record<string, unknown>> => (await database().sql(text))[0] ?? {};
  const session = () =>
    only(`select started_at at time zone 'UTC' as started_at, last_seen_at at time zone 'UTC' as last_seen_at,
                 ended_at, harness_id, harness_session_id, turn_count from svc.sessions`);
  const mark = async () => Number((await only('select mark from svc.derive_queue')).mark ?? 0);
  const timesOf = async () => {
    const times = await only(`
      select to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as first,
             to_char(last_seen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as last from svc.sessions`);
    return [times.first, times.last];
  };

  test('a row is one raw turn with the bytes of the body, a link of its session’s chain, and no call, node or coverage', async () => {
    const agent = { agent_id: 'a1', agent_type: 'Explore', tool_use_id: 'toolu_1', description: 'Look\naround' };
    const body = uploadBody({ ...agent, records: records(3) });
    const { raw_turn_id, session_id, deduped } = keptOf(await writer.append(body, null));
    assert.is(deduped, false);
    const [row, ...others] = await rows();
    assert.equal(others, []);
    assert.equal(
      [row?.source, row?.provider, row?.format, row?.method, row?.url, row?.status, row?.outcome, row?.ending],
      ['transcript', '', 'transcript', 'POST', '/v1/ingest/transcript', null, 'captured', 'complete'],
    );
    assert.equal(
      [row?.harness_id, row?.harness_session_id, row?.thread_id],
      ['claude', SESSION.harness_session_id, 'a1'],
    );
    assert.equal(row?.meta, {
      transcript: {
        ...{ main: false, kind: '', records: 3, ...agent },
        ...{ first_at: '2026-07-27T09:00:00.000000Z', last_at: '2026-07-27T09:00:02.000000Z' },
      },
    });
    const bytes = await database().execute('rawTurnBytes', { raw_turn_id });
    assert.equal(Buffer.from(bytes?.request ?? []), Buffer.from(body));
    assert.equal([bytes?.request_headers, bytes?.response, bytes?.response_headers], [[], null, null]);
    assert.is((await session()).turn_count, 1);
    assert.equal([await count('calls'), await count('nodes'), await count('coverage')], [0, 0, 0]);
    const { raw_turns } = await database().execute('listRawTurns', { session_id, after: null, limit: 5 });
    assert.equal([raw_turns.length, raw_turns[0]?.source, raw_turns[0]?.meta], [1, 'transcript', row?.meta]);
  });

  test('transcript row stored, records content unchanged for the same identity: no new row; derivation is still requeued', async () => {
    const message = { agent_id: 'a1', description: 'first', records: records(2) };
    const [first] = await upload(writer, message);
    await database().sql(`update svc.derive_queue set parked_at = now(), try_after = now() + interval '1 day'`);
    const before = await session();
    const [again] = await upload(writer, { ...message, description: 'told otherwise' });
    assert.equal(
      [again?.deduped, again?.raw_turn_id, again?.session_id],
      [true, first?.raw_turn_id, first?.session_id],
    );
    assert.is((await rows()).length, 1);
    assert.equal(await session(), before);
    assert.is(await mark(), 2);
    assert.equal(await only('select parked_at, try_after <= now() as due from svc.derive_queue'), {
      parked_at: null,
      due: true,
    });
  });

  test('transcript row stored, records content has grown or changed: a new version is appended', async () => {
    await upload(
      writer,
      { records: records(2) },
      { records: records(3) },
      { records: [record(9), record(1), record(2)] },
    );
    assert.equal(
      (await rows()).map(({ session_seq }) => session_seq),
      [1, 2, 3],
    );
    assert.is(await mark(), 3);
  });

  test('a grown file stores only what has grown', async () => {
    const size = async () => ({
      slices: await count('slices'),
      bytes: Number((await only('select sum(size_bytes) as n from svc.slices')).n),
    });
    await upload(writer, { records: records(2_000) });
    const before = await size();
    assert.ok(before.slices < 2_000 / 20, `${before.slices} slices`);
    const [grown] = await upload(writer, { records: records(2_010) });
    const after = await size();
    assert.is(grown?.deduped, false);
    const tail = 2; // what is short of a slice of the second size, and what it makes of it with the new ones
    const pages = 4; // of the recipe's end, of the records after it and of what stands after them
    assert.ok(after.slices - before.slices <= tail + pages, `${after.slices - before.slices} slices`);
    assert.ok(after.bytes - before.bytes <= 10 * JSON.stringify(record(2_009)).length + 8_192 + 4_096);
    const fresh = testTranscripts(database(), () => NOW); // who remembers nothing finds them all the same
    await upload(fresh, { records: records(2_011) });
    assert.ok((await size()).slices - after.slices <= tail + pages);
  });

  test('a file in parts stores its records once, however often it grows', async () => {
    await upload(writer, ...inParts({ records: records(300) }, 100));
    const before = await count('slices');
    await upload(writer, ...inParts({ records: records(310) }, 100));
    assert.is((await rows()).length, 3 + 4);
    const around = 4 * 2; // of each part what stands around its records, which names the file
    const tail = 2; // in the last one the records that are new
    assert.ok((await count('slices')) - before <= tail + around, `${(await count('slices')) - before}`);
  });

  test('rule 4: rows with kind interacted are stored, once, and mark the session as others do', async () => {
    const message = { agent_id: 'a1', records: records(1) };
    await upload(writer, message, { ...message, kind: 'interacted' }, { ...message, kind: 'interacted' });
    assert.equal(
      (await rows()).map(({ meta }) => (meta as { transcript: TranscriptSummary }).transcript.kind),
      ['', 'interacted'],
    );
    assert.is(await mark(), 3);
  });

  test('rule 5: rows deduplicate on harness, session, tagged main-or-agent, lifecycle kind and records content', async () => {
    const message = { records: records(2) };
    const other = { harness_id: 'codex', harness_session_id: SESSION.harness_session_id };
    const distinct: UploadedMessage[] = [
      message,
      { ...message, session: other },
      { ...message, session: { ...SESSION, harness_session_id: 'another' } },
      { ...message, agent_id: 'a1' },
      { ...message, agent_id: 'a2' },
      { ...message, agent_id: 'a1', kind: 'interacted' },
      { ...message, agent_id: 'a1', kind: 'completed' },
      { ...message, kind: 'interacted' },
      { records: records(3) },
    ];
    for (const { deduped } of await upload(writer, ...distinct)) assert.is(deduped, false);
    const same: UploadedMessage[] = [
      { ...message, agent_id: null },
      { ...message, agent_id: '' },
      { ...message, kind: 'started' },
      { ...message, kind: '' },
      { ...message, kind: null },
      { ...message, agent_id: 'a1', kind: 'started', agent_type: 'other', tool_use_id: 'other', description: 'other' },
      { ...message, session: { ...SESSION, cwd: '/elsewhere', name: 'other', auth_subject: 'ada' } },
    ];
    for (const { deduped } of await upload(writer, ...same)) assert.is(deduped, true);
    assert.is((await rows()).length, distinct.length);
  });

  test('rule 5: the identity is the hash of compact JSON, of the records as they were sent', async () => {
    const recordsText = '[ {"a": 1},\n "\\u0041" ]';
    const body = (rest: string) => new Uint8Array(Buffer.from(`{"records":${recordsText},${rest}}`));
    const key = (rest: object) =>
      `transcript:v2:${sha256(JSON.stringify({ version: 2, harness_id: 'unknown', harness_session_id: 's', ...rest }))}`;
    const records_hash = sha256(recordsText);
    for (const rest of [
      '"session":{"harness_session_id":"s"}',
      '"session":{"harness_session_id":"s"},"agent_id":"a","kind":"x"',
    ])
      keptOf(await writer.append(body(rest), null));
    assert.equal(
      (await rows()).map(({ request_id }) => request_id),
      [
        key({ spawn_lifecycle: true, main: true, records_hash }),
        key({ spawn_lifecycle: false, lifecycle_kind: 'x', main: false, agent_id: 'a', records_hash }),
      ],
    );
    const [spaced] = await upload(writer, { session: { harness_session_id: 's' }, records: [{ a: 1 }, 'A'] });
    assert.is(spaced?.deduped, false, 'the same records in other bytes are another version');
  });

  test('rule 5: an agent named main cannot shadow the main file', async () => {
    const message = { records: records(2) };
    const [main, agent] = await upload(writer, message, { ...message, agent_id: 'main' });
    assert.equal([main?.deduped, agent?.deduped], [false, false]);
    assert.equal([main?.summary.main, agent?.summary.main, agent?.summary.agent_id], [true, false, 'main']);
    const versions = await database().execute('transcriptVersions', { session_id: main?.session_id ?? '' });
    assert.equal(
      versions.map(({ main: isMain, agent_id, versions: [newest] }) => [isMain, agent_id, newest?.newest_id]),
      [
        [true, '', main?.raw_turn_id],
        [false, 'main', agent?.raw_turn_id],
      ],
    );
  });

  test('rule 6: the session is upserted with the earliest and latest valid record times, and is dirty', async () => {
    const at = (timestamp: unknown) => ({ type: 'user', timestamp });
    await upload(writer, {
      records: [
        at('2026-07-27T09:30:00.123456789+02:00'),
        at('2026-07-27T06:00:00Z'),
        at('2026-07-27T08:00:00.5Z'),
        ...['yesterday', '', 1, null, '2026-02-30T00:00:00Z', '1969-12-31T23:59:59Z', '2036-11-22T00:00:00Z'].map(at),
        ...['9999-12-31T23:59:59Z', '+275760-09-13T00:00:00Z', '2026-07-27'].map(at),
        ...['torn {', 3, null, [at('2020-01-01T00:00:00Z')], { message: at('2020-01-01T00:00:00Z') }],
      ],
    });
    assert.equal(await timesOf(), ['2026-07-27T06:00:00.000000', '2026-07-27T08:00:00.500000']);
    const { harness_id, harness_session_id } = await session();
    assert.equal([harness_id, harness_session_id], [SESSION.harness_id, SESSION.harness_session_id]);
    assert.is(await mark(), 1);
  });

  test('rule 6: the ingest time where no record has a time that can be read', async () => {
    await upload(writer, { records: [{ timestamp: 'soon' }, 'torn', { timestamp: '1960-01-01T00:00:00Z' }] });
    assert.equal(await timesOf(), ['2026-11-21T09:00:00.000000', '2026-11-21T09:00:00.000000']);
    assert.equal(
      (await rows()).map(({ meta }) => (meta as { transcript: TranscriptSummary }).transcript.first_at),
      [null],
    );
  });

  test('rule 6: a session that has wire calls widens to hold the records, and never narrows', async () => {
    const headers: [string, string][] = [
      ['x-svc-harness-id', SESSION.harness_id],
      ['x-svc-harness-session-id', SESSION.harness_session_id],
    ];
    const call = capturedCall({ n: 0, request: chat('Hello'), headers }); // 2026-11-21T09:00
    await takeIn(database(), [call]);
    const wire = await timesOf();
    const { client_key } = await only(`select encode(client_key, 'hex') as client_key from svc.sessions`);
    await upload(writer, { records: [{ timestamp: '2026-11-21T09:00:00.0001Z' }] });
    assert.equal(await timesOf(), wire);
    await upload(writer, { records: [{ timestamp: '2026-11-20T00:00:00Z' }, { timestamp: '2026-11-22T00:00:00Z' }] });
    assert.equal(await timesOf(), ['2026-11-20T00:00:00.000000', '2026-11-22T00:00:00.000000']);
    assert.is(
      (await only(`select encode(client_key, 'hex') as client_key from svc.sessions`)).client_key,
      client_key,
      'whose client it is only its calls say',
    );
    assert.is((await session()).turn_count, 3);
  });

  test('a transcript that came first leaves it to the first call to say whose client the session is', async () => {
    await upload(writer, { records: [{ timestamp: '2020-01-01T00:00:00Z' }] });
    const headers: [string, string][] = [
      ['x-svc-harness-id', SESSION.harness_id],
      ['x-svc-harness-session-id', SESSION.harness_session_id],
    ];
    const call = capturedCall({ n: 0, request: chat('Hello'), headers });
    await takeIn(database(), [call]);
    const { client_key } = await only(`select encode(client_key, 'hex') as client_key from svc.sessions`);
    assert.is(client_key, call.opened.client_key);
  });

  test('rule 7: ended_at stays unset after a transcript upload', async () => {
    await upload(writer, { records: records(3) }, { agent_id: 'a1', records: records(3) });
    assert.is((await session()).ended_at, null);
  });

  test('the same upload sent twenty times at once, by two processes, is one row', async () => {
    const other = testTranscripts(database(), () => NOW);
    const body = () => uploadBody({ records: records(50) });
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? other : writer).append(body(), null)),
    );
    assert.equal(verdicts.filter((verdict) => !keptOf(verdict).deduped).length, 1);
    assert.is((await rows()).length, 1);
    assert.is(await mark(), 20);
  });

  test('whatever stands in the records, the upload is kept, to the byte', async () => {
    const deep = `${'['.repeat(5_000)}1${']'.repeat(5_000)}`;
    const strange = [
      '"\\ud800"',
      '"a\\u0000b"',
      '{"\\u0000":1}',
      '{"__proto__":{"x":1}}',
      '-0.0',
      '1e400',
      deep,
      '[]',
      '""',
    ];
    for (const agent_id of ['\\ud800', 'a\\u0000b']) strange.push(`{"agentId":"${agent_id}","timestamp":"\\u0000"}`);
    const text = JSON.stringify({ session: SESSION, agent_id: 'a\u0000b', description: '\ud800', kind: 'x\u0000' });
    const body = new Uint8Array(Buffer.from(`\ufeff${text.slice(0, -1)}, "records" :\n[ ${strange.join(' ,\t')} ]\n}`));
    const { raw_turn_id, summary } = keptOf(await writer.append(body, null));
    assert.equal(
      [summary.records, summary.agent_id, summary.description, summary.kind],
      [strange.length, 'a\uFFFDb', '\uFFFD', 'x\uFFFD'],
    );
    const bytes = await database().execute('rawTurnBytes', { raw_turn_id });
    assert.equal(Buffer.from(bytes?.request ?? []), Buffer.from(body));
    assert.ok((await count('slices')) > 2, 'cut around its records all the same');
  });

  test('what is no upload is refused in words that quote nothing, and nothing of it is kept', async () => {
    const session = JSON.stringify(SESSION);
    const part = (rest: object) =>
      JSON.stringify({ index: 0, count: 1, file_sha256: 'ab'.repeat(32), from_line: 0, ...rest });
    const chained = (rest: object) =>
      JSON.stringify({ from_line: 0, through_sha256: 'ab'.repeat(32), is_last: true, ...rest });
    const bodyWith = (rest: string) => `{"session":${session},"records":[],${rest}}`;
    for (const [body, why] of [
      ['', 'it is no JSON object'],
      ['{"sekret', 'it is no JSON object'],
      ['["sekret"]', 'it is no JSON object'],
      ['{"session":sekret,"records":[]}', 'it is no JSON object'],
      [`{"session":${session},"records":[{"sekret":}]}`, 'it is no JSON'],
      [`{"session":${session},"records":[sekret]}`, 'it is no JSON'],
      [`{"session":${session},"records":[1 2]}`, 'it is no JSON'],
      [`{"session":${session},"records":[1,]}`, 'it is no JSON'],
      ['{"records":[]}', 'session is no object'],
      ['{"session":{},"records":[]}', 'session.harness_session_id is no string'],
      ['{"session":{"harness_session_id":""},"records":[]}', 'session.harness_session_id is empty'],
      ['{"session":{"harness_session_id":" "},"records":[]}', 'session.harness_session_id is malformed'],
      ['{"session":{"harness_session_id":"s","org_id":"sekret"},"records":[]}', 'session.org_id is no UUID'],
      [`{"session":${session}}`, 'records is no array'],
      [`{"session":${session},"records":{"sekret":1}}`, 'records is no array'],
      [bodyWith('"agent_id":7'), 'agent_id is no string'],
      [bodyWith('"agent_id":" "'), 'agent_id is malformed'],
      [bodyWith('"kind":{}'), 'kind is no string'],
      [bodyWith('"part":1'), 'part is no object'],
      [bodyWith(`"part":${part({ index: 1 })}`), 'part.index is not below part.count'],
      [bodyWith(`"part":${part({ index: -1 })}`), 'part.index is too small'],
      [bodyWith(`"part":${part({ index: 0.5 })}`), 'part.index is no whole number'],
      [bodyWith(`"part":${part({ count: 0 })}`), 'part.count is too small'],
      [bodyWith(`"part":${part({ file_sha256: 'sekret' })}`), 'part.file_sha256 is malformed'],
      [bodyWith(`"part":${part({ from_line: '1' })}`), 'part.from_line is no whole number'],
      [bodyWith(`"part":${chained({ from_line: -1 })}`), 'part.from_line is too small'],
      [bodyWith(`"part":${chained({ through_sha256: 'sekret' })}`), 'part.through_sha256 is malformed'],
      [bodyWith(`"part":${chained({ is_last: 'sekret' })}`), 'part.is_last is no boolean'],
      [bodyWith(`"part":${chained({ from_line: 1 })}`), 'part.prefix_sha256 is missing'],
      [bodyWith(`"part":${chained({ prefix_sha256: 'ab'.repeat(32) })}`), 'part.prefix_sha256 is not of a first part'],
      [
        `{"session":{"harness_session_id":"s","harness_metadata":${'{"a":'.repeat(40)}1${'}'.repeat(40)}},"records":[]}`,
        'session.harness_metadata is nested too deep',
      ],
    ] as const)
      assert.equal(
        await writer.append(new Uint8Array(Buffer.from(body)), null),
        { kind: 'malformed', error: `Cannot read the transcript: ${why}` },
        body.slice(0, 80),
      );
    assert.equal([await count('raw_turns'), await count('sessions'), await count('slices')], [0, 0, 0]);
  });

  test('who sends is whom a trusted gateway names, else whom the envelope does', async () => {
    const session = { ...SESSION, auth_subject: 'ada' };
    await writer.append(uploadBody({ session, records: records(1) }), null);
    assert.is((await only('select auth_subject from svc.sessions')).auth_subject, 'ada');
    await writer.append(
      uploadBody({ session: { ...session, harness_session_id: 's2' }, records: records(1) }),
      'grace',
    );
    assert.equal(
      (await rows()).map(({ identity }) => (identity as Identity).auth_subject),
      ['ada', 'grace'],
    );
  });

  test('while the database is away the sender is told to ask again; what it refuses for its values is told apart', async () => {
    const failing = (error: DatabaseError): Database => ({
      ...database(),
      execute: ((name: string, args: never) =>
        name === 'appendTranscripts'
          ? Promise.reject(error)
          : database().execute(name as 'ping', args)) as Database['execute'],
    });
    const verdict = (error: DatabaseError) => testTranscripts(failing(error)).append(uploadBody(), null);
    assert.equal(await verdict(new DatabaseError('lost', '', true)), {
      kind: 'unavailable',
      error: 'Cannot keep the transcript: the database is not available',
    });
    assert.equal(await verdict(new DatabaseError('refused', '22P05', false)), {
      kind: 'unstorable',
      error: 'Cannot keep the transcript: the database cannot hold what it says of itself',
    });
    const thrown = await verdict(new DatabaseError('bug', '42703', false)).catch((error: unknown) => error);
    assert.ok(thrown instanceof DatabaseError);
  });

  test('the files that Claude Code and Codex left, whole and in parts, are kept to the byte', async () => {
    for (const file of (['claude', 'codex'] as const).flatMap(harnessFiles)) {
      for (const message of [file, ...inParts(file, 4), ...inChain(file, 4)]) {
        const body = uploadBody(message);
        const { raw_turn_id, deduped, summary } = keptOf(await writer.append(body, null));
        const bytes = await database().execute('rawTurnBytes', { raw_turn_id });
        assert.equal(Buffer.from(bytes?.request ?? []), Buffer.from(body));
        assert.equal([deduped, summary.records], [false, (message.records as unknown[]).length]);
      }
    }
  });
});
