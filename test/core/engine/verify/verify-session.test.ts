/** Whatever is changed in the database by hand is found, and told with its place; what purges and newer readers change is not tampering. */
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { builtIn, type Reader } from '../../../../core/call/reader.ts';
import { rereadSession } from '../../../../core/engine/derive/reread-session.ts';
import { openCheckedSlices } from '../../../../core/engine/verify/checked-slices.ts';
import { type SessionVerified, verifySession } from '../../../../core/engine/verify/verify-session.ts';
import { formatById } from '../../../../core/provider/formats.ts';
import { capturedCall, chat, chatAnswer, recordedJournalCalls, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { generatedCalls } from '../../../support/generated-calls.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

const TURNS = 12; // so that the last bodies have more pieces than fit without pages
const recorded = await recordedJournalCalls();

/** A conversation whose messages are long enough to be compressed, but for the second question. */
const texts = Array.from({ length: TURNS * 2 }, (_, i) => (i === 2 ? 'Short' : `Sentence ${i} of a talk. `.repeat(9)));
const conversation = texts.flatMap((_, i) =>
  i % 2 === 1 ? capturedCall({ n: i, request: chat(...texts.slice(0, i)), response: chatAnswer(texts[i] ?? '') }) : [],
);

databaseSuite('verifySession', (test, database) => {
  let session_id = '';
  const store = async () => {
    await database().reset();
    await takeIn(database(), conversation);
    const sessions = await database().sql('select session_id from svc.sessions');
    assert.is(sessions.length, 1);
    session_id = String(sessions[0]?.session_id);
  };
  const verify = async (head: string | null = null, reader: Reader = builtIn): Promise<SessionVerified> => {
    const verifier = { database: database(), reader, slices: openCheckedSlices(database()) };
    const verified = await verifySession(verifier, session_id, head);
    if (!verified) throw new Error('the session is there');
    return verified;
  };
  /** As somebody who may do everything: with the triggers off. */
  const tamper = async (...statements: string[]) => {
    await database().sql('alter table svc.raw_turns disable trigger user');
    for (const statement of statements) await database().sql(statement);
    await database().sql('alter table svc.raw_turns enable trigger user');
  };
  const turn = async (seq: number) => {
    const [row] = await database().sql(
      `select raw_turn_id, encode(turn_hash, 'hex') as turn_hash, encode(response_slice, 'hex') as response,
              encode(request_header_template, 'hex') as headers, encode(substring(request_pages for 32), 'hex') as page
         from svc.raw_turns where session_id = '${session_id}' and session_seq = ${seq}`,
    );
    if (!row) throw new Error(`turn ${seq} is there`);
    return { ...row, raw_turn_id: Number(row.raw_turn_id) } as Record<
      'turn_hash' | 'response' | 'headers' | 'page',
      string
    > & {
      raw_turn_id: number;
    };
  };
  const places = ({ first_breaks }: SessionVerified) =>
    first_breaks.map(({ check, session_seq, what }) => `${check} ${session_seq}: ${what}`);

  test('what nobody has touched is in order: turns, nodes, the head', async () => {
    await store();
    const verified = await verify();
    const head = await turn(TURNS);
    assert.equal(places(verified), []);
    assert.is(verified.breaks, 0);
    assert.equal([verified.turns, verified.purged, verified.nodes, verified.outdated], [TURNS, 0, TURNS * 2, 0]);
    assert.is(verified.head_turn_hash, head.turn_hash);
    assert.ok(verified.nodes_checked);
    assert.is(verified.has_head, false);
  });

  test('recorded and generated sessions, coded and torn bodies, and turns without bodies are in order', async () => {
    await store();
    if (recorded) await takeIn(database(), recorded);
    for (const [i, calls] of fc
      .sample(generatedCalls({ minLength: 8, maxLength: 30 }), { numRuns: 4, seed: 7 })
      .entries())
      await storeCalls(
        database(),
        calls.map((call, n) => journalCall(`generated-${i}`, { ...call, call_id: `v${i}-${call.call_id ?? n}` })),
      );
    const coded = gzipSync(JSON.stringify(chat('In a coding', 'ok', 'Again')));
    const input = [
      { role: 'assistant', content: 'One' },
      { role: 'assistant', content: 'Two' },
      { role: 'user', content: 'Go on' },
    ];
    await takeIn(database(), [
      capturedCall({ n: 900, request: coded, headers: [['content-encoding', 'gzip']] }),
      capturedCall({ n: 901, request: chat('Nothing kept'), keep: 'metadata' }),
      capturedCall({ n: 902, request: Buffer.from('{"torn'), closed: { cut: 'request' } }),
      capturedCall({ n: 903, request: chat('Silence'), response: null }),
      capturedCall({ n: 904, request: { model: 'gpt-5', input }, format: 'openai.responses', response: '{}' }),
      capturedCall({
        n: 905,
        request: chat('Odd'),
        headers: [['x-svc-harness-metadata', '{"a":1e400,"b":[1.50,-0]}']],
      }),
    ]);
    const sessions = await database().sql('select session_id from svc.sessions order by 1');
    assert.ok(sessions.length > 8);
    for (const one of sessions) {
      session_id = String(one.session_id);
      const verified = await verify();
      assert.equal(places(verified), []);
      assert.is(verified.outdated, 0);
      assert.ok(verified.turns > 0);
    }
  });

  /** Flips the lowest bit of a slice's byte. */
  const flip = (slice: string, at = 0) =>
    `update svc.slices set bytes = set_byte(bytes, ${at}, get_byte(bytes, ${at}) # 1) where slice_id = decode('${slice}', 'hex')`;

  test('a flipped byte is found at the first turn that holds it: in a question, an answer, headers, a page', async () => {
    await store();
    const [compressed] = await database().sql(
      `select encode(slice_id, 'hex') as id from svc.all_slices s
        where codec = 1 and exists (select from svc.nodes n where n.slice_id = s.slice_id and n.position = 6)`,
    );
    const [plain] = await database().sql(
      `select encode(slice_id, 'hex') as id from svc.all_slices s
        where codec = 0 and exists (select from svc.nodes n where n.slice_id = s.slice_id and n.position = 2)`,
    );
    const late = await turn(TURNS);
    const cases: [what: string, slice: string, at: number, seq: number][] = [
      ['a compressed message', String(compressed?.id), 5, 4],
      ['a short message', String(plain?.id), 3, 2],
      ['an answer', (await turn(5)).response, 8, 5],
      ['headers', (await turn(1)).headers, 1, 1],
      ['a page of a recipe', late.page, 3, 9],
    ];
    for (const [what, slice, at, seq] of cases) {
      await tamper(flip(slice, at));
      const verified = await verify();
      const [first] = verified.first_breaks;
      assert.is(first?.check, 'bytes', what);
      assert.match(first?.what ?? '', `slice ${slice} `, what);
      assert.is(first?.session_seq, what === 'a page of a recipe' ? first?.session_seq : seq, what);
      assert.is(first?.raw_turn_id, (await turn(first?.session_seq ?? 0)).raw_turn_id);
      await tamper(flip(slice, at));
      assert.is((await verify()).breaks, 0, `${what} is as it was`);
    }
  });

  test('bytes that were exchanged for others, with their right id, are found', async () => {
    await store();
    const [third, fourth] = [await turn(3), await turn(4)];
    await tamper(`update svc.raw_turns set response_slice = decode('${fourth.response}', 'hex') where session_seq = 3`);
    assert.equal(places(await verify()), ['bytes 3: the bytes of its answer do not have its response_digest']);
    await tamper(
      `update svc.raw_turns set response_digest = response_slice where session_seq = 3`,
      `update svc.raw_turns set request_pages = (select request_pages from svc.raw_turns where session_seq = 1) where session_seq = 2`,
    );
    assert.equal(places(await verify()), [
      'bytes 2: the bytes of its request do not have its request_digest',
      'turn 3: its columns and headers do not have its turn_hash',
    ]);
    assert.is.not(third.response, fourth.response);
  });

  test('a changed column is found, whichever it is', async () => {
    for (const change of [
      'status = 201',
      "url = url || '?'",
      "requested_at = requested_at + interval '1 microsecond'",
      'first_byte_at = null',
      `identity = identity || '{"cwd":"/elsewhere"}'`,
      `meta = '{"n":1e400}'`,
      "request_header_values = array['1']",
      "outcome = 'partial'",
      'request_bytes = request_bytes + 1',
      "provider = 'anthropic'",
      "thread_id = 'other'",
      "svc_proxy_request_id = 'another'",
      'response_header_template = null',
      "turn_hash = sha256('')",
    ]) {
      await store();
      await tamper(`update svc.raw_turns set ${change} where session_seq = 6`);
      const [first] = places(await verify());
      assert.is(first, 'turn 6: its columns and headers do not have its turn_hash', change);
    }
  });

  test('an inner turn that was removed is missed, where it stood', async () => {
    await store();
    await tamper('delete from svc.raw_turns where session_seq = 5');
    assert.equal(places(await verify()), ['link 5: this turn is gone, and no tombstone tells why']);
    await tamper('delete from svc.raw_turns where session_seq in (6, 7)');
    assert.equal(places(await verify()), ['link 5: the turns up to 7 are gone, and no tombstone tells why']);
    await tamper(
      'delete from svc.raw_turns where session_seq > 4',
      'update svc.raw_turns set session_seq = session_seq + 1 where session_seq = 4',
    );
    assert.is(places(await verify())[0], 'link 4: this turn is gone, and no tombstone tells why');
  });

  test('when the gap is closed by renumbering, the turn after it is told', async () => {
    await store();
    await tamper(
      'delete from svc.raw_turns where session_seq = 5',
      'update svc.raw_turns set session_seq = session_seq + 1000 where session_seq > 5',
      'update svc.raw_turns set session_seq = session_seq - 1001 where session_seq > 1000',
      `update svc.sessions set turn_count = turn_count - 1`,
    );
    assert.is(places(await verify())[0], 'link 5: its prev_hash is not the hash of turn 4');
  });

  test('two turns that were swapped are told, both', async () => {
    await store();
    await tamper(
      'update svc.raw_turns set session_seq = 1000 where session_seq = 4',
      'update svc.raw_turns set session_seq = 4 where session_seq = 7',
      'update svc.raw_turns set session_seq = 7 where session_seq = 1000',
    );
    assert.equal(places(await verify()), [
      'link 4: its prev_hash is not the hash of turn 3',
      'link 5: its prev_hash is not the hash of turn 4',
      'link 7: its prev_hash is not the hash of turn 6',
      'link 8: its prev_hash is not the hash of turn 7',
    ]);
  });

  test('a tail that was cut is told by the session row, and when that was put right by a head kept elsewhere', async () => {
    await store();
    const [tenth, last] = [await turn(10), await turn(TURNS)];
    const forget = ['nodes', 'calls'].map(
      (table) => `delete from svc.${table} where raw_turn_id > ${tenth.raw_turn_id}`,
    );
    await tamper('delete from svc.raw_turns where session_seq > 10', ...forget);
    assert.equal(places(await verify()), [
      `session null: the session's row counts ${TURNS} turns, and the last one that stands is 10`,
    ]);
    await tamper(`update svc.sessions set turn_count = 10, head_turn_hash = decode('${tenth.turn_hash}', 'hex')`);
    await rereadSession(database(), builtIn, session_id);
    assert.is((await verify()).breaks, 0, 'nothing within the database tells of it');
    assert.is((await verify(last.turn_hash)).has_head, false);
    assert.is((await verify(tenth.turn_hash)).has_head, true);
  });

  test("a session's row with another head, count or name is told", async () => {
    const changes: [change: string, what: string][] = [
      ["head_turn_hash = sha256('')", "session null: the head in the session's row is not the hash of its last turn"],
      ['head_turn_hash = null', "session null: the head in the session's row is not the hash of its last turn"],
      ['turn_count = 11', `session null: the session's row counts 11 turns, and the last one that stands is ${TURNS}`],
      ['turn_count = 13', `session null: the session's row counts 13 turns, and the last one that stands is ${TURNS}`],
      ["harness_session_id = 'another'", "session 1: the session's row has other names than this turn"],
    ];
    for (const [change, what] of changes) {
      await store();
      await tamper(`update svc.sessions set ${change}`);
      assert.is(places(await verify())[0], what);
    }
  });

  test('a node that was changed, removed, swapped or made up is told', async () => {
    const node = (position: number) =>
      `(select node_hash from svc.nodes where position = ${position} and injected = '')`;
    const made = (hash: string, turnId: string) =>
      `insert into svc.nodes (session_id, node_hash, parent_hash, raw_turn_id, call_id, position, depth, role, model, provider,
                              agent_name, project, is_root, is_head, requested_at, created_at)
       select session_id, sha256('${hash}'), parent_hash, ${turnId}, call_id, position, depth, role, model, provider,
              agent_name, project, is_root, is_head, requested_at, created_at from svc.nodes where position = 9`;
    const changes: [statements: string[], check: string, what: string][] = [
      [[`delete from svc.nodes where node_hash = ${node(6)}`], 'node', 'the node that it hangs on is gone'],
      [[`delete from svc.nodes where node_hash = ${node(TURNS * 2 - 1)}`], 'call', 'the node of its answer is gone'],
      [
        [
          `update svc.nodes n set slice_id = o.slice_id from svc.nodes o
            where n.position in (4, 6) and o.position in (4, 6) and n.position <> o.position`,
        ],
        'node',
        'its slice_id is not what the turn says',
      ],
      [
        [
          `update svc.nodes set node_hash = sha256(node_hash) where position in (4, 6)`,
          `update svc.nodes n set parent_hash = sha256(parent_hash) where position in (5, 7)`,
        ],
        'node',
        'no turn says it',
      ],
      [[`update svc.nodes set role = 'system' where position = 4`], 'node', 'its role is not what the turn says'],
      [
        [`update svc.nodes set output_tokens = 6 where position = 5`],
        'node',
        'its output_tokens is not what the turn says',
      ],
      [[made('made up', 'raw_turn_id')], 'node', 'no turn says it'],
      [[made('of no turn', '100000')], 'node', 'the raw turn that its row points to, 100000, is not stored'],
      [
        ['update svc.calls set raw_turn_id = 100000 where raw_turn_id = (select max(raw_turn_id) from svc.calls)'],
        'call',
        'the raw turn that its row points to, 100000, is not stored',
      ],
      [
        ['delete from svc.calls where raw_turn_id = (select max(raw_turn_id) from svc.calls)'],
        'call',
        'its call is gone',
      ],
      [
        [`update svc.calls set tip_hash = ${node(2)} where raw_turn_id = (select max(raw_turn_id) from svc.calls)`],
        'call',
        "its call's tip_hash is not what the turn says",
      ],
    ];
    for (const [statements, check, what] of changes) {
      await store();
      await tamper(...statements);
      const { first_breaks } = await verify();
      const found = first_breaks.find((one) => one.check === check && one.what === what);
      assert.ok(found, `${what}: ${JSON.stringify(first_breaks)}`);
      assert.type(found?.raw_turn_id, 'number');
      assert.is(found?.node_hash === null, check === 'call');
    }
  });

  test('a message in a slice of its own, which no body holds, is checked with its node', async () => {
    await store();
    const coded = gzipSync(JSON.stringify(chat('In a coding that hides it')));
    await takeIn(database(), [capturedCall({ n: 950, request: coded, headers: [['content-encoding', 'gzip']] })]);
    const [row] = await database().sql(
      `select n.session_id, encode(n.slice_id, 'hex') as slice, encode(t.request_pages, 'hex') as pages
         from svc.nodes n join svc.raw_turns t using (raw_turn_id) where n.session_id <> '${session_id}' and n.slice_id is not null`,
    );
    assert.is.not(row?.slice, row?.pages);
    await tamper(flip(String(row?.slice), 4));
    session_id = String(row?.session_id);
    const [first] = (await verify()).first_breaks;
    assert.is(first?.check, 'node');
    assert.match(first?.what ?? '', `slice ${row?.slice} does not hold the bytes`);
  });

  test('what a mended reader reads otherwise is outdated, not broken', async () => {
    await store();
    const mended: Reader = {
      ...builtIn,
      formatById: (id) => {
        const format = formatById(id);
        return {
          ...format,
          message: (element) => {
            const message = format.message(element);
            return { ...message, content: [...message.content, { type: 'text', text: 'mended' }] };
          },
        };
      },
    };
    const verified = await verify(null, mended);
    assert.equal(places(verified), []);
    assert.ok(verified.outdated > TURNS);
    await rereadSession(database(), mended, session_id);
    assert.is((await verify(null, mended)).outdated, 0, 'reading the turns again settles it');
  });

  test('a session that waits to be read again, or that older rules made, is outdated where it differs', async () => {
    await store();
    await tamper('delete from svc.nodes where position = 6');
    assert.ok((await verify()).breaks > 0);
    await database().execute('markFromScratch', { session_id });
    const verified = await verify();
    assert.is(verified.breaks, 0);
    assert.ok(verified.outdated > 0);
  });

  /** What a purge leaves of turns. */
  const purge = async (which: string) => {
    await tamper(
      `insert into svc.tombstones (session_id, raw_turn_id, session_seq, prev_hash, turn_hash, reason)
       select session_id, raw_turn_id, session_seq, prev_hash, turn_hash, 'asked' from svc.raw_turns where ${which}`,
      `delete from svc.raw_turns where ${which}`,
    );
    await rereadSession(database(), builtIn, session_id);
  };

  test('a purge is explained by its tombstones: of all turns, of some, and with turns after it', async () => {
    await store();
    const fifth = await turn(5);
    await purge('session_seq in (1, 5, 6)');
    const some = await verify(fifth.turn_hash);
    assert.equal(places(some), []);
    assert.equal([some.turns, some.purged, some.has_head], [TURNS - 3, 3, true]);

    await purge('true');
    const all = await verify();
    assert.equal(places(all), []);
    assert.equal([all.turns, all.purged, all.nodes], [0, TURNS, 0]);
  });

  test('a tombstone explains nothing but its own turn', async () => {
    await store();
    await purge('session_seq in (5, 6)');
    await tamper("update svc.tombstones set turn_hash = sha256('') where session_seq = 5");
    assert.equal(places(await verify()), ["link 6: its tombstone's prev_hash is not the hash of turn 5"]);
    await tamper('delete from svc.tombstones where session_seq = 5');
    assert.equal(places(await verify()), ['link 5: this turn is gone, and no tombstone tells why']);

    await store();
    await tamper(
      `insert into svc.tombstones (session_id, raw_turn_id, session_seq, prev_hash, turn_hash, reason)
       select session_id, raw_turn_id, session_seq, prev_hash, turn_hash, 'asked' from svc.raw_turns where session_seq = 3`,
    );
    assert.equal(places(await verify()), ['link 3: the turn stands although a tombstone says that it was purged']);
  });

  test('turns that come in meanwhile break nothing', async () => {
    await database().reset();
    await takeIn(database(), conversation.slice(0, 3));
    const [row] = await database().sql('select session_id from svc.sessions');
    session_id = String(row?.session_id);
    let more = true;
    const looking = (async () => {
      const seen: SessionVerified[] = [];
      while (more) seen.push(await verify());
      return seen;
    })();
    for (const call of conversation.slice(3)) await takeIn(database(), [call]);
    more = false;
    const seen = await looking;
    assert.ok(seen.length > 0);
    assert.equal(seen.flatMap(places), []);
    assert.equal([(await verify()).turns, (await verify()).nodes], [TURNS, TURNS * 2]);
  });

  test('no session: null', async () => {
    session_id = '00000000-0000-4000-8000-000000000000';
    const verifier = { database: database(), reader: builtIn, slices: openCheckedSlices(database()) };
    assert.is(await verifySession(verifier, session_id, null), null);
  });
});
