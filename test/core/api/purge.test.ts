/** A secret that was pasted into a session leaves every table; what others need stays, and the chain says what is missing. */
import * as assert from 'uvu/assert';
import skills from '../../../cassettes/skills/cassette.ts';
import { sessionId } from '../../../core/call/identity.ts';
import { builtIn } from '../../../core/call/reader.ts';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import { unpackSlice } from '../../../core/capture/slice-codec.ts';
import { deriveSession } from '../../../core/engine/derive/derive-session.ts';
import type { HeaderList } from '../../../core/model/headers.ts';
import { Problem } from '../../../core/model/problem.ts';
import { Purged } from '../../../core/model/purge.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { cassettesOf, furnished } from '../../support/cassette-database.ts';
import { standCassette } from '../../support/cassette-stand.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import { fillHoldingTables, HOLDING_TABLES, heldRows } from '../../support/holding-tables.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { recordsIn, startScriptedLlm } from '../../support/scripted-llm.ts';
import { standSearch } from '../../support/search.ts';
import { assertWhole } from '../../support/stored-bytes.ts';
import { zstdStored } from '../../support/zstd-store.ts';

const SECRET = 'hunter2-QXJnb24';
const of = (name: string): HeaderList => [
  ['x-svc-harness-id', 'test'],
  ['x-svc-harness-session-id', name],
];
const id = (name: string) => sessionId('test', name);

/** A conversation whose every call repeats what was said; the secret is asked about and answered with. */
const conversation = (name: string, from: number, turns: number, opening = `My key is ${SECRET}`): JournalCall[] =>
  Array.from({ length: turns }, (_, n) => {
    const messages = Array.from({ length: 2 * n }, (_, i) => `${name} says ${i} ${SECRET}`);
    return capturedCall({
      n: from + n,
      request: chat('Shared opening', 'ok', opening, 'noted', ...messages, `${name} asks ${n}`),
      response: chatAnswer(`${name} answers ${n} ${SECRET}`),
      headers: [...of(name), ['x-trace', `${SECRET}-${n}`]],
    });
  });

/** Every row of every table, statistics included, as text; slices as what they hold. */
async function everything(database: TestDatabase): Promise<string> {
  const tables = await database.sql(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('information_schema')`,
  );
  const all: string[] = [];
  for (const { name } of tables) {
    if (name === 'svc.slices') continue;
    const rows = await database.sql(`select x::text as row from ${name} x`);
    all.push(...rows.map(({ row }) => `${name} ${row}`));
  }
  for (const row of await database.sql('select codec, bytes from svc.slices'))
    all.push(`svc.slices ${Buffer.from(unpackSlice(row as never)).toString('latin1')}`);
  return all.join('\n');
}

const rowsOf = (text: string, word: string) => text.split('\n').filter((row) => row.includes(word));

databaseSuite('purging a session', (test, database) => {
  const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }> => {
    const response = await testApi({ execute: database().execute }).request(path, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const purge = async (name: string, body?: unknown): Promise<Json> => {
    const answer = await ask('POST', `/v1/admin/sessions/${id(name)}/purge`, body);
    assert.is(answer.status, 200, JSON.stringify(answer.body));
    return Purged.parse(answer.body);
  };

  test.before.each(() => database().reset());

  test('a planted secret is in no table afterwards, and other sessions read as before', async () => {
    const zipped = conversation('zipped', 200, 3).map((call) => {
      const request = zstdStored(call.request);
      return {
        ...call,
        request,
        opened: { ...call.opened, headers: [...call.opened.headers, ['content-encoding', 'zstd']] },
      };
    }) as JournalCall[];
    const responses = ['first', 'second'].map((word, n) =>
      capturedCall({
        n: 300 + n,
        format: 'openai.responses',
        headers: of('leaky'),
        request: { model: 'gpt-5', input: `Keep ${SECRET} ${word}` },
        response: JSON.stringify({ id: `resp_${n}`, object: 'response', status: 'completed', output: [] }),
      }),
    );
    await takeIn(database(), [
      ...conversation('leaky', 0, 4),
      ...(zipped.map((call) => ({
        ...call,
        opened: {
          ...call.opened,
          headers: call.opened.headers.map(([k, v]) => (v === 'zipped' ? [k, 'leaky'] : [k, v])),
        },
      })) as JournalCall[]),
      ...responses,
      capturedCall({ n: 400, request: chat('Shared opening', 'ok', 'Mine'), headers: of('clean') }),
    ]);
    await deriveAll(database());
    await database().sql('update svc.session_rollups set title = $1 where session_id = $2::uuid', [
      SECRET,
      id('leaky'),
    ]);
    await ask('PATCH', `/v1/sessions/${id('leaky')}`, { display_name: `the ${SECRET} one` });
    await database().sql('analyze');
    const before = await everything(database());
    assert.ok(rowsOf(before, SECRET).length > 20, 'it is all over the place');
    const forked = await ask('GET', `/v1/sessions/${id('clean')}/traces`);
    const linksOf = ({ body }: typeof forked) => (body as { links: { kind: string }[] }).links;
    assert.equal(
      linksOf(forked).map(({ kind }) => kind),
      ['fork-of'],
      'it goes on from the opening that they share',
    );
    const clean = { ...forked, body: { ...(forked.body as object), links: [] } }; // what it went on from is gone

    const purged = await purge('leaky', { reason: 'a key was pasted' });
    assert.is(purged.raw_turns, 9);
    assert.is(purged.tombstones, 9);
    assert.ok(purged.slices > 20 && purged.bytes > 0 && purged.slices_shared > 0, JSON.stringify(purged));
    assert.is(purged.rewritten, database().kind === 'embedded');

    assert.equal(rowsOf(await everything(database()), SECRET), []);
    assert.equal(await ask('GET', `/v1/sessions/${id('clean')}/traces`), clean);
    assert.is(await assertWhole(database()), 1);
    for (const path of ['', '/traces', '/raw_turns'])
      assert.is((await ask('GET', `/v1/sessions/${id('leaky')}${path}`)).status, 404);

    await database().execute('markFromScratch', { session_id: null });
    await deriveAll(database());
    assert.equal(rowsOf(await everything(database()), SECRET), []);
    assert.is((await ask('GET', `/v1/sessions/${id('leaky')}`)).status, 404, 'a rebuild brings nothing back');
    assert.equal(await ask('GET', `/v1/sessions/${id('clean')}/traces`), clean);
  });

  test('what was embedded of it goes with it, and what was embedded of others stays', async () => {
    const server = await startEmbedder();
    const config = { 'embedding.provider': 'ollama', 'embedding.target': server.url };
    const other = capturedCall({
      n: 10,
      request: chat('Nothing of it'),
      response: chatAnswer('Good'),
      headers: of('other'),
    });
    await takeIn(database(), [...conversation('leaky', 0, 2), other]);
    await deriveAll(database());
    const search = await standSearch(database(), { config });
    try {
      const { embedded } = await search.embedded();
      await database().sql('analyze');
      const snippets = rowsOf(await everything(database()), SECRET).filter((row) => row.startsWith('cassette_search.'));
      assert.is(snippets.length, 2);
      const answer = await search.ask(`/v1/admin/sessions/${id('leaky')}/purge`, { method: 'POST' });
      assert.is(answer.status, 200);
      assert.is(Purged.parse(await answer.json()).rewritten, database().kind === 'embedded');
      const left = await database().sql('select distinct session_id from cassette_search.embedded_spans');
      assert.equal(left, [{ session_id: id('other') }]);
      const [kept] = await database().sql('select count(*)::integer as n from cassette_search.span_embeddings');
      assert.equal([embedded, kept?.n], [3, 1]);
      assert.equal(rowsOf(await everything(database()), SECRET), []);
    } finally {
      await search.close();
      await server.close();
      await database().execute('removeCassette', { name: 'search' });
    }
  });

  test('a table of a cassette that does not let go of its rows does not keep the others', async () => {
    await takeIn(database(), conversation('leaky', 0, 2));
    const cassettes = cassettesOf(database());
    const tables = `${HOLDING_TABLES}
      create table words (word text, session_id uuid);
      create table "named so" (session_id text);`;
    try {
      await furnished(cassettes, 'notes', { tables });
      await fillHoldingTables(database(), 'notes', id('leaky'));
      await database().sql(
        `insert into cassette_notes.words values ('${SECRET}', '${id('leaky')}'), ('fine', '${id('other')}')`,
      );
      await database().sql(`insert into cassette_notes."named so" values ('${id('leaky')}')`);
      assert.is((await purge('leaky')).raw_turns, 2);
      assert.equal(await heldRows(database(), 'notes'), [1, 1, 1, 1]);
      const words = await database().sql('select word from cassette_notes.words');
      assert.equal(words, [{ word: 'fine' }]);
      assert.is((await database().sql('select 1 as one from cassette_notes."named so"')).length, 1);
    } finally {
      await database().execute('removeCassette', { name: 'notes' });
      await cassettes.close();
    }
  });

  test('a skill that was generated from the session goes with it, and one that somebody edited since is named', async () => {
    const other = capturedCall({
      ...{ n: 100, headers: of('other'), request: chat('Tell me about harbours and tides') },
      response: chatAnswer('They turn twice a day'),
    });
    await takeIn(database(), [...conversation('leaky', 0, 2), other]);
    await deriveAll(database());
    const llm = await startScriptedLlm((request) => {
      const records = recordsIn(request);
      const { span = '', text = '' } = records.find((record) => record.text.includes(SECRET)) ?? records[0] ?? {};
      const claim = { text: text.slice(0, 200), sources: [{ span, quote: text.slice(0, 200) }] };
      return JSON.stringify({ name: 'Keys', sections: [{ heading: '', claims: [claim] }] });
    });
    const stand = await standCassette(database(), {
      ...{ folder: 'skills', manifest: skills.manifest, config: { 'llm.base_url': llm.url } },
      environment: { SVC_CASSETTE_SKILLS_LLM_API_KEY: 'sk-of-the-operator' },
    });
    const send = async (method: string, path: string, body: object): Promise<Json> => {
      const response = await stand.ask(path, { method, body: JSON.stringify(body) });
      const json = (await response.json()) as Json;
      assert.ok(response.ok, JSON.stringify(json));
      return json;
    };
    const generated = (...names: string[]) => send('POST', '/generate', { sessionIds: names.map(id) });
    try {
      const untouched = await generated('leaky');
      assert.match(untouched.content, SECRET, 'which is what makes it dangerous');
      await send('POST', `/${untouched.id}/versions`, {});
      const copy = await send('POST', `/${untouched.id}/duplicate`, {});
      const edited = await generated('leaky', 'other');
      await send('PUT', `/${edited.id}`, { content: `${edited.content} Mine` });
      const copied = await send('POST', `/${edited.id}/duplicate`, {});
      const others = await generated('other');
      const row = ({ id: one, name }: Json, removed: boolean) =>
        ({ cassette: 'skills', table: 'skills', id: one, name, removed }) as Json;
      const byId = (one: Json, other: Json) => (one.id < other.id ? -1 : 1);
      const { made_of_it } = await purge('leaky');
      assert.equal(
        made_of_it.sort(byId),
        [row(untouched, true), row(copy, true), row(edited, false), row(copied, false)].sort(byId),
      );
      const rows = rowsOf(await everything(database()), SECRET).filter((one) => one.startsWith('cassette_skills.'));
      assert.equal([rows.length, rows.filter((one) => one.includes(edited.id)).length], [2, 2], 'nowhere else');
      assert.is((await stand.ask(`/${others.id}`)).status, 200, 'what came of another session alone stays');
      const again = (await purge('leaky')).made_of_it;
      assert.equal(again.sort(byId), [row(edited, false), row(copied, false)].sort(byId), 'as long as they are there');
    } finally {
      await stand.close();
      await llm.close();
      await database().execute('removeCassette', { name: 'skills' });
    }
  });

  test('a second purge finds nothing left, and a session that never was is unknown', async () => {
    await takeIn(database(), conversation('leaky', 0, 2));
    await purge('leaky');
    const { raw_turns, slices, slices_shared, bytes, tombstones } = await purge('leaky');
    assert.equal([raw_turns, slices, slices_shared, bytes, tombstones], [0, 0, 0, 0, 2]);
    const never = await ask('POST', `/v1/admin/sessions/${id('never')}/purge`);
    assert.is(never.status, 404);
    assert.is(Problem.parse(never.body).code, 'session-unknown');
    assert.is((await ask('POST', `/v1/admin/sessions/${id('leaky')}/purge`, { why: 'x' })).status, 400);
  });

  test('a hidden session can be purged, and both edits leave the log to append-only rules', async () => {
    await takeIn(database(), conversation('leaky', 0, 2));
    assert.is(
      (await testApi({ execute: database().execute }).request(`/v1/sessions/${id('leaky')}`, { method: 'DELETE' }))
        .status,
      204,
    );
    assert.is(await assertWhole(database()), 2, 'the raw turns of a deleted session stay');
    assert.is((await purge('leaky')).raw_turns, 2);
    await takeIn(database(), conversation('clean', 10, 1));
    try {
      await database().sql('delete from svc.raw_turns');
      assert.unreachable('the log was changed without a purge');
    } catch (error) {
      assert.match((error as Error).message, /append-only/);
    }
  });

  test('tombstones hold the places of the chain, and later turns go on from its head', async () => {
    await takeIn(database(), conversation('leaky', 0, 3));
    const chain = `session_id, raw_turn_id, session_seq, encode(turn_hash, 'hex') as hash, encode(prev_hash, 'hex') as prev`;
    const turns = await database().sql(`select ${chain} from svc.raw_turns order by session_seq`);
    await purge('leaky', { reason: 'a key was pasted' });
    const stones = await database().sql(`select ${chain} from svc.tombstones order by session_seq`);
    assert.equal(stones, turns);
    const [tombstone] = await database().sql('select distinct reason, purged_session_id from svc.tombstones');
    assert.equal(tombstone, { reason: 'a key was pasted', purged_session_id: id('leaky') });

    await takeIn(database(), conversation('leaky', 50, 1));
    await deriveAll(database());
    const [next] = await database().sql(`select ${chain} from svc.raw_turns`);
    assert.equal([next?.session_seq, next?.prev], [4, turns.at(-1)?.hash]);
    assert.is((await ask('GET', `/v1/sessions/${id('leaky')}`)).status, 404, 'it stays hidden');
    assert.is(await assertWhole(database()), 1);
    const again = await purge('leaky');
    assert.equal([again.raw_turns, again.tombstones], [1, 4]);
    assert.equal(rowsOf(await everything(database()), SECRET), []);
  });

  test('turns count where corrections put them: those brought in go, those given away stay', async () => {
    const stored = await takeIn(database(), [...conversation('leaky', 0, 2), ...conversation('other', 10, 2)]);
    const [kept, , movedIn] = stored.map(({ raw_turn_id }) => raw_turn_id);
    for (const [turn, session] of [
      [kept, 'other'],
      [movedIn, 'leaky'],
    ] as const)
      await database().sql(
        `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason) values ($1, 'repair', $2::uuid, 'test')`,
        [turn, id(session)],
      );
    for (const name of ['leaky', 'other']) await database().execute('markFromScratch', { session_id: id(name) });
    await deriveAll(database());
    assert.is((await purge('leaky')).raw_turns, 2);
    const left = await database().sql('select raw_turn_id from svc.raw_turns order by 1');
    assert.equal(
      left.map(({ raw_turn_id }) => raw_turn_id),
      [kept, stored[3]?.raw_turn_id],
    );
    const stones = await database().sql(
      'select session_id, purged_session_id from svc.tombstones order by raw_turn_id',
    );
    assert.equal(stones, [
      { session_id: id('leaky'), purged_session_id: id('leaky') },
      { session_id: id('other'), purged_session_id: id('leaky') },
    ]);
    await deriveAll(database());
    assert.is(await assertWhole(database()), 2);
    const { body } = await ask('GET', `/v1/sessions/${id('other')}/traces`);
    assert.ok(body.traces.length > 0, 'what is left of the other session is derived again');
  });

  test('a fold that is under way writes nothing back', async () => {
    await takeIn(database(), conversation('leaky', 0, 2));
    const [lease] = await database().execute('leaseDirty', { limit: 1, background: false, lease_ms: 60_000 });
    assert.ok(lease);
    await purge('leaky');
    const signal = new AbortController().signal;
    assert.is((await deriveSession({ database: database(), reader: builtIn, signal }, lease)).end, 'lost');
    assert.equal(rowsOf(await everything(database()), SECRET), []);
  });
});
