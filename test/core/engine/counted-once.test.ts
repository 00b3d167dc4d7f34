/** A call that several sessions hold counts once, in the session in which it was made, in whatever order they come. */
import * as assert from 'uvu/assert';
import { sessionId } from '../../../core/call/identity.ts';
import { builtIn } from '../../../core/call/reader.ts';
import { purgeSession } from '../../../core/engine/purge-session.ts';
import { openCheckedSlices } from '../../../core/engine/verify/checked-slices.ts';
import { verifySession } from '../../../core/engine/verify/verify-session.ts';
import { takeIn } from '../../support/captured-calls.ts';
import { wireCall } from '../../support/claude-wire.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { permutations } from '../../support/permutations.ts';
import {
  answeredBy,
  answerItem,
  claudeChat,
  line,
  textBlock,
  tokens,
  userItem,
  userRecord,
} from '../../support/transcript-records.ts';
import { testTranscripts, type UploadedMessage, upload } from '../../support/transcript-uploads.ts';

const NO_FILTER = { since: null, until: null, project: null, agent_name: null, model: null, provider: null };

/** A file of one session whose records name another one, or this one. */
const file = (harness_session_id: string, records: object[], named = harness_session_id): UploadedMessage => ({
  session: { harness_id: 'claude', harness_session_id },
  records: records.map((record) => ({ ...record, sessionId: named })),
});
const id = (harness_session_id: string) => sessionId('claude', harness_session_id);

databaseSuite('counted once', (test, database) => {
  test.before.each(() => database().reset());

  const uploaded = async (...files: UploadedMessage[]) => {
    await upload(testTranscripts(database()), ...files);
    await deriveAll(database());
  };
  /** What each session counts, by the name of its harness: traces shown, own main calls, tokens; inherited calls, and of whom. */
  const counted = async () => {
    const rows = await database().sql(`
      select s.harness_session_id as name, r.trace_count, coalesce((r.kind_counts ->> 'main')::int, 0) as own,
             (r.input_tokens + r.output_tokens)::int as tokens, r.inherited_calls as inherited,
             coalesce(o.harness_session_id, '') as fork_of
        from svc.session_rollups r
        join svc.sessions s on s.session_id = r.session_id
        left join svc.sessions o on o.session_id = r.fork_of_session_id
       order by 1`);
    return Object.fromEntries(
      rows.map(({ name, trace_count, own, tokens, inherited, fork_of }) => [
        name,
        [trace_count, own, tokens, inherited, fork_of],
      ]),
    );
  };
  const tokensIn = async () => {
    const sum = async (from: string) =>
      (await database().sql(`select coalesce(sum(input_tokens + output_tokens), 0)::int as n from ${from}`))[0]?.n;
    const stats = await database().execute('readStats', NO_FILTER);
    return [
      ...[await sum('svc.session_rollups'), await sum('svc.traces'), await sum('svc.spans'), await sum('svc.nodes')],
      ...[await sum('svc.stat_days'), await sum('svc.stat_cells'), stats.input_tokens + stats.output_tokens],
    ];
  };
  const verified = async (session_id: string) => {
    const verifier = { database: database(), reader: builtIn, slices: openCheckedSlices(database()) };
    const found = await verifySession(verifier, session_id, null);
    return [found?.breaks, found?.outdated];
  };
  const links = async (session_id: string) => {
    const page = await database().execute('linksOf', { of: { session_id }, after: null, limit: 50 });
    const spans = await database().sql('select span_id, started_at, session_id from svc.spans');
    const at = (span_id: string) => spans.find((span) => span.span_id === span_id);
    return page.links
      .filter(({ kind }) => kind === 'fork-of')
      .map(({ from_span_id, to_span_id }) => [at(from_span_id), at(to_span_id)]);
  };
  const CALL = 15; // tokens of one of claudeChat's
  const USED = { input_tokens: 10, output_tokens: 5 };

  test('a resumed session that begins with the earlier file under its own id counts its own calls, whichever file comes first', async () => {
    const files = [file('earlier', claudeChat(3)), file('resumed', claudeChat(5))];
    for (const order of permutations(files)) {
      await database().reset();
      for (const one of order) await uploaded(one);
      assert.equal(await counted(), { earlier: [3, 3, 3 * CALL, 0, ''], resumed: [5, 2, 2 * CALL, 3, 'earlier'] });
      assert.equal(await tokensIn(), Array(7).fill(5 * CALL));
    }
  });

  test('it reads whole, says which calls are history and in which session they count, and links to the last of them', async () => {
    await uploaded(file('resumed', claudeChat(5)), file('earlier', claudeChat(3)));
    const page = await database().execute('spansOf', {
      of: { session_id: id('resumed') },
      after: null,
      limit: 100,
      payload: 'full',
    });
    const calls = page.spans.map(({ span }) => span).filter(({ kind }) => kind === 'llm');
    assert.equal(
      calls.map(({ output, inherited_from_session_id, usage }) => [
        output[0]?.text,
        inherited_from_session_id,
        usage.input_tokens,
      ]),
      [1, 2, 3, 4, 5].map((n) => [`Answer ${n}`, n <= 3 ? id('earlier') : undefined, n <= 3 ? 0 : 10]),
    );
    const session = await database().execute('readSession', { session_id: id('resumed') });
    assert.is(session?.fork_of_session_id, id('earlier'));
    assert.is(session?.rollup.inherited_calls, 3);
    const origin = await database().execute('readSession', { session_id: id('earlier') });
    assert.is(session?.rollup.inherited_cost_usd, origin?.rollup.usage.cost_usd);
    assert.ok((session?.rollup.inherited_cost_usd ?? 0) > 0);
    assert.is(origin?.rollup.inherited_calls, undefined);
    const found = await links(id('resumed'));
    assert.is(found.length, 1);
    const [[from, to] = []] = found;
    assert.equal([from?.session_id, to?.session_id], [id('resumed'), id('earlier')]);
    assert.ok(String(from?.started_at) > String(to?.started_at));
  });

  test('half a file again under another name counts nothing, in whatever order', async () => {
    const files = [file('whole', claudeChat(4)), file('half', claudeChat(2), 'whole')];
    for (const order of permutations(files)) {
      await database().reset();
      for (const one of order) await uploaded(one);
      assert.equal(await counted(), { whole: [4, 4, 4 * CALL, 0, ''], half: [2, 0, 0, 2, 'whole'] });
      assert.equal(await tokensIn(), Array(7).fill(4 * CALL));
    }
  });

  test('what a fork says that it brought along counts here until the file of its origin comes', async () => {
    const inherited = claudeChat(2).map((record) => ({ ...record, forkedFrom: { sessionId: 'origin' } }));
    const fork: UploadedMessage = { session: { harness_id: 'claude', harness_session_id: 'fork' }, records: inherited };
    await uploaded(fork);
    assert.equal(await counted(), { fork: [2, 2, 2 * CALL, 0, ''] });
    await uploaded(file('origin', claudeChat(4)));
    assert.equal(await counted(), { fork: [2, 0, 0, 2, 'origin'], origin: [4, 4, 4 * CALL, 0, ''] });
  });

  test('a file that grows keeps what it has counted when a copy of it ended in between', async () => {
    await uploaded(file('a', claudeChat(2)));
    await uploaded(file('b', claudeChat(3)));
    const more = [
      userRecord(['a2', 'u9'], 90, 'More'),
      answeredBy(['u9', 'a9'], 92, 'msg_9', [textBlock('Here')], { usage: USED }),
    ];
    await uploaded(file('a', [...claudeChat(2), ...more]));
    assert.equal(await counted(), { a: [3, 3, 3 * CALL, 0, ''], b: [3, 1, CALL, 2, 'a'] });
    assert.equal(await tokensIn(), Array(7).fill(4 * CALL));
  });

  test('a call that came over the wire counts there, whether the transcript of another session came before or after it', async () => {
    const [message_id, request_id] = ['msg_1', 'req_msg_1'];
    const call = wireCall(1, { words: ['Question 1'], answer: 'Answer 1', message_id, request_id });
    for (const first of ['wire', 'transcript']) {
      await database().reset();
      if (first === 'wire') await takeIn(database(), [call]);
      await uploaded(file('copy', claudeChat(2)));
      if (first === 'transcript') await takeIn(database(), [call]);
      await deriveAll(database());
      const { copy, ...wire } = (await counted()) as Record<string, unknown[]>;
      const [name] = Object.keys(wire);
      assert.equal(copy, [2, 1, CALL, 1, name], first);
      assert.equal(Object.values(wire)[0]?.slice(1, 2), [1]);
      assert.is(new Set(await tokensIn()).size, 1);
      assert.is((await links(id('copy'))).length, 1);
    }
  });

  test('where the session that made them is purged, they count where they are left', async () => {
    await uploaded(file('earlier', claudeChat(3)), file('resumed', claudeChat(5)));
    await purgeSession(database().execute, { session_id: id('earlier'), reason: 'asked for' });
    await deriveAll(database());
    assert.equal(await counted(), { resumed: [5, 5, 5 * CALL, 0, ''] });
    assert.equal(await tokensIn(), Array(7).fill(5 * CALL));
  });

  for (const ids of [
    'by the ids of its responses',
    'by thread, place and what was used, where an older file has no ids',
  ])
    test(`a Codex thread that was forked counts what it brought along in its origin: ${ids}`, async () => {
      const used = (second: number, thread_id: string, total: number) =>
        ids.startsWith('by the ids')
          ? line('token_usage_record', second, {
              ...{ thread_id, response_id: `resp_${second}` },
              usage: { input_tokens: 10, cached_input_tokens: 4, output_tokens: 5 },
            })
          : line('event_msg', second, tokens(10, 5, total));
      const before = (thread: string) => [
        ...[userItem(1, 'Before'), answerItem(2, 'There'), used(2, thread, 10)],
        ...[userItem(3, 'And'), answerItem(4, 'There too'), used(4, thread, 20)],
      ];
      const rollout = (harness_session_id: string, meta: object, records: object[]): UploadedMessage => ({
        session: { harness_id: 'codex', harness_session_id },
        records: [
          line('session_meta', 0, { id: harness_session_id, ...meta }),
          line('turn_context', 0, { model: 'gpt-5-codex' }),
          ...records,
        ],
      });
      const forked = [...before('origin'), userItem(9, 'Here'), answerItem(10, 'Now'), used(10, 'fork', 30)];
      const files = [rollout('origin', {}, before('origin')), rollout('fork', { forked_from_id: 'origin' }, forked)];
      for (const order of permutations(files)) {
        await database().reset();
        for (const one of order) await uploaded(one);
        assert.equal(await counted(), { origin: [2, 2, 2 * CALL, 0, ''], fork: [3, 1, CALL, 2, 'origin'] });
      }
    });

  test('a transcript that is moved to another session counts there alone', async () => {
    await uploaded(file('wrong', claudeChat(3)));
    const [turn] = await database().sql('select raw_turn_id from svc.raw_turns');
    await database().execute('repairAttribution', {
      ...{ raw_turn_id: Number(turn?.raw_turn_id), svc_proxy_request_id: null, reason: 'it is of another session' },
      ...{ harness_id: 'claude', harness_session_id: 'right', thread_id: '', parent_harness_session_id: null },
    });
    await deriveAll(database());
    assert.equal((await counted()).right, [3, 3, 3 * CALL, 0, '']);
    assert.equal(await tokensIn(), Array(7).fill(3 * CALL));
    assert.equal(await database().sql('select distinct session_id from svc.transcript_claims'), [
      { session_id: id('right') },
    ]);
  });

  test('a rebuild changes nothing, and what is stored is what the files say', async () => {
    await uploaded(file('resumed', claudeChat(5)), file('earlier', claudeChat(3)));
    const before = await counted();
    await database().execute('markFromScratch', { session_id: null });
    await deriveAll(database());
    assert.equal(await counted(), before);
    assert.equal(await tokensIn(), Array(7).fill(5 * CALL));
    for (const name of ['earlier', 'resumed']) assert.equal(await verified(id(name)), [0, 0], name);
  });

  test('without ids of the provider a call is told by its thread, its place there and what it used', async () => {
    const nameless = (records: object[]) =>
      records.map((record) => {
        const { requestId: _, ...rest } = record as { requestId?: string };
        return rest;
      });
    const copied = file('copy', nameless(claudeChat(3)), 'origin');
    await uploaded(copied, file('origin', nameless(claudeChat(3))));
    await uploaded(file('another', nameless(claudeChat(3))));
    assert.equal(await counted(), {
      another: [3, 3, 3 * CALL, 0, ''],
      copy: [3, 0, 0, 3, 'origin'],
      origin: [3, 3, 3 * CALL, 0, ''],
    });
  });
});
