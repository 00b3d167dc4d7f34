/** POST /v1/admin/find-text: a text is found wherever it may stand, in whatever form; and purging what was found leaves none of it. */
import { gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { sessionId } from '../../../core/call/identity.ts';
import { FindTextLine } from '../../../core/model/find-text.ts';
import { ParkedPurged, PurgeList } from '../../../core/model/purge-list.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { cassettesOf, furnished } from '../../support/cassette-database.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { PLANTED } from '../../support/planted-secrets.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const SECRET = 'p4ss"w\\ö\nrd-QXJnb24';
const named = (name: string): [string, string][] => [
  ['x-svc-harness-id', 'test'],
  ['x-svc-harness-session-id', name],
];
const id = (name: string) => sessionId('test', name);
const call = (n: number, name: string, request: unknown, response: string | Uint8Array = chatAnswer('ok'), more = {}) =>
  capturedCall({ n, request, response, headers: named(name), ...more });

databaseSuite('POST /v1/admin/find-text', (test, database) => {
  test.before.each(() => database().reset());

  const ask = (method: string, path: string, body?: unknown) =>
    testApi({ execute: database().execute }).request(path, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
  const find = async (text: string) => {
    const response = await ask('POST', '/v1/admin/find-text', { text });
    assert.is(response.status, 200, await response.clone().text());
    const lines: Json[] = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => FindTextLine.parse(JSON.parse(line)));
    assert.equal(lines.at(-1), { end: true });
    const sessions = new Map(lines.flatMap((line) => (line.found ? [[line.found.session_id, line.found]] : [])));
    const { elsewhere } = lines.find((line) => line.elsewhere) as Json;
    return { sessions, elsewhere, total: lines[0].sessions };
  };
  const sides = (found: Json): string[] => [...new Set<string>(found.turns.flatMap((turn: Json) => turn.sides))].sort();

  test('each side, each form, and what was derived of it', async () => {
    const zipped = gzipSync(chatAnswer(`zipped ${SECRET}`));
    const tool = {
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: JSON.stringify({ key: SECRET }) } }],
    };
    const split = Array.from(
      SECRET,
      (character) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: character } }] })}\n\n`,
    );
    await takeIn(database(), [
      call(1, 'asked', chat(`My key is ${SECRET}`)),
      call(2, 'answered', chat('Tell me'), chatAnswer(`It is ${SECRET}!`)),
      call(3, 'zipped', chat('Zipped'), zipped, { responseHeaders: [['content-encoding', 'gzip']] }),
      call(4, 'tool', { model: 'm', messages: [{ role: 'user', content: 'use it' }, tool] }),
      call(5, 'ascii', Buffer.from(JSON.stringify(chat(SECRET)).replaceAll('ö', '\\u00f6'))),
      call(6, 'streamed', { ...chat('stream'), stream: true }, `${split.join('')}data: [DONE]\n\n`, {
        responseHeaders: [['content-type', 'text/event-stream']],
      }),
      call(7, 'clean', chat('Nothing of it')),
    ]);
    await deriveAll(database());
    await ask('PATCH', `/v1/sessions/${id('clean')}`, { display_name: `not ${SECRET}` });
    const { sessions, total } = await find(SECRET);
    assert.is(total, 7);
    assert.equal(
      [...sessions.keys()].sort(),
      ['asked', 'answered', 'zipped', 'tool', 'ascii', 'streamed', 'clean'].map(id).sort(),
    );
    const of = (name: string): Json => sessions.get(id(name));
    assert.equal(sides(of('asked')), ['request']);
    assert.equal(sides(of('answered')), ['response']);
    assert.equal(sides(of('zipped')), ['response']);
    assert.equal(sides(of('tool')), ['request']);
    assert.equal(sides(of('ascii')), ['request']);
    assert.ok(of('streamed').rows.spans > 0, 'no byte of its stream holds it as a whole, and its span does');
    assert.equal([of('clean').rows, of('clean').raw_turns], [{ session_edits: 1 }, 0]);
    assert.ok(of('asked').spans.length > 0 && of('asked').rows.traces === 1);
  });

  test('across the slices of a body, in headers and in an address', async () => {
    const long = `${'a '.repeat(300_000)}${SECRET}${' b'.repeat(300_000)}`;
    const cut = Array.from({ length: 40 }, (_, n) => ({ role: 'user', content: `part ${n}` }));
    const words = 'harbour-QXJnb24';
    const withHeaders = call(2, 'headers', chat('x'), chatAnswer('y'), { responseHeaders: [['x-set', `a ${words}`]] });
    withHeaders.opened.headers.push(['x-trace', `b ${words}`]);
    const address = call(3, 'address', chat('z'));
    address.opened.url = `/v1/chat/completions?note=${encodeURIComponent('a b-QXJnb24')}`;
    await takeIn(database(), [
      call(1, 'long', chat(long)),
      withHeaders,
      address,
      call(4, 'cut', { model: 'm', messages: cut }),
    ]);
    assert.equal([...(await find(SECRET)).sessions.keys()], [id('long')]);
    const { sessions } = await find(words);
    assert.equal([...sessions.keys()], [id('headers')]);
    assert.ok(sides(sessions.get(id('headers'))).includes('request_headers'));
    assert.ok(sides(sessions.get(id('headers'))).includes('response_headers'));
    assert.equal([...(await find('a b-QXJnb24')).sessions.keys()], [id('address')]);
    const between = `"part 20"},{"role":"user","content":"part 21"`; // two messages, which are slices of their own
    assert.equal([...(await find(between.replaceAll('"', '"'))).sessions.keys()], [id('cut')]);
  });

  test('turns set aside, and the tables of cassettes', async () => {
    await database().sql(
      `insert into svc.parked_turns (svc_proxy_request_id, reason, head, request_body, response_body)
       values ('parked', 'test', '{}', convert_to($1, 'UTF8'), '')`,
      [JSON.stringify(chat(SECRET))],
    );
    const cassettes = cassettesOf(database());
    try {
      await furnished(cassettes, 'notes', {
        tables: 'create table notes (text text); create table others (n integer)',
      });
      await database().sql('insert into cassette_notes.notes values ($1)', [SECRET]);
      const { elsewhere } = await find(SECRET);
      assert.equal(elsewhere, { parked_turns: ['parked'], tables: [{ table: 'cassette_notes.notes', rows: 1 }] });
    } finally {
      await database().execute('removeCassette', { name: 'notes' });
      await cassettes.close();
    }
    const purged = await ask('POST', '/v1/admin/purge/parked-turns', { ids: ['parked', 'never'] });
    assert.is(ParkedPurged.parse(await purged.json()).parked_turns, 1);
    assert.equal((await find(SECRET)).elsewhere, { parked_turns: [], tables: [] });
    assert.is((await ask('POST', '/v1/admin/purge/parked-turns', { ids: [] })).status, 400);
  });
  test('secrets as they occur are found, and gone after the purge of what was found', async () => {
    const some = PLANTED.filter(({ what }, n) => n % 5 === 0 || /private key|JSON/.test(what));
    await takeIn(
      database(),
      some.map(({ text }, n) => call(n, `secret ${n}`, chat(text), chatAnswer(`I saw ${text}`))),
    );
    await deriveAll(database());
    const holding = new Set<string>();
    for (const [n, { what, secret }] of some.entries()) {
      const { sessions } = await find(secret);
      assert.equal(sides(sessions.get(id(`secret ${n}`))), ['request', 'response'], what);
      for (const session_id of sessions.keys()) holding.add(session_id);
    }
    for (const session_id of holding)
      assert.is((await ask('POST', `/v1/admin/sessions/${session_id}/purge`, { sweep: false })).status, 200);
    for (const { what, secret } of some) assert.equal([...(await find(secret)).sessions.keys()], [], what);
  });

  test('too short a text, and none, are refused', async () => {
    for (const body of [{ text: 'abc' }, {}, { text: 5 }, { text: 'abcd', all: true }])
      assert.is((await ask('POST', '/v1/admin/find-text', body)).status, 400);
    assert.equal([...(await find('nowhere at all')).sessions.keys()], []);
  });
});

databaseSuite('GET /v1/admin/purge/sessions', (test, database) => {
  test.before(async () => {
    await takeIn(database(), [
      call(0, 'first', chat('one')),
      call(1, 'first', chat('one', 'ok', 'two')),
      call(3600, 'second', chat('three')),
    ]);
    await deriveAll(database());
    const api = testApi({ execute: database().execute });
    await api.request(`/v1/sessions/${id('second')}`, { method: 'DELETE' });
  });
  const list = async (query = ''): Promise<Json> => {
    const response = await testApi({ execute: database().execute }).request(`/v1/admin/purge/sessions${query}`);
    assert.is(response.status, 200, await response.clone().text());
    return PurgeList.parse(await response.json());
  };
  const ids = async (query: string) => (await list(query)).items.map((item: Json) => item.session_id).sort();

  test('all, deleted ones too, with their turns', async () => {
    const { items, next } = await list();
    assert.is(next, null);
    const facts = items.map(({ session_id, raw_turns, deleted, project }: Json) => [
      session_id,
      raw_turns,
      deleted,
      project,
    ]);
    assert.equal(
      facts.sort(),
      [
        [id('first'), 2, false, 'atlas'],
        [id('second'), 1, true, 'atlas'],
      ].sort(),
    );
    assert.equal((await list(`?after=${ids.length > 0 ? items.at(-1).session_id : ''}`)).items, []);
  });

  test('by session, project and time', async () => {
    assert.equal(await ids(`?session_id=${id('first')}`), [id('first')]);
    assert.equal(await ids('?project=atlas'), [id('first'), id('second')].sort());
    for (const none of ['?project=other', '?project=%00', '?before=2026-11-21', '?since=2026-11-22'])
      assert.equal(await ids(none), [], none);
    assert.equal(await ids('?before=2026-11-21T09:30:00Z'), [id('first')]);
    assert.equal(await ids('?since=2026-11-21T09:30:00Z'), [id('second')]);
  });

  test('what was purged is not in it', async () => {
    await database().execute('openPurge', { session_id: id('first') });
    await testApi({ execute: database().execute }).request(`/v1/admin/sessions/${id('first')}/purge`, {
      method: 'POST',
    });
    assert.equal(await ids(''), [id('second')]);
  });
});
