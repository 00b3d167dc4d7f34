/** The calls that gave an answer of this id, the newest first: what a request goes on from that names it. */
import * as assert from 'uvu/assert';
import { sessionId } from '../../../../core/call/identity.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { type PreviousAnswer, referencedAnswers } from '../../../../core/db/store/previous-answers.ts';
import { type CallLike, capturedCall, chat, requestId, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { ingestBody, testIngest } from '../../../support/ingested-turns.ts';
import { explained, nodesOf, readRows, shown } from '../../../support/query-plan.ts';

const answered = (id: string, content: string | null) =>
  JSON.stringify({
    id,
    object: 'chat.completion',
    model: 'gpt-5',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  });

/** The `n`th call, answered under an id. */
const call = (n: number, id: string, like: Partial<CallLike> = {}): JournalCall =>
  capturedCall({ n, request: chat(`Question ${n}`), response: answered(id, `Answer ${n}`), ...like });

databaseSuite('previousAnswers', (test, database) => {
  const find = (response_id: string) => database().execute('previousAnswers', { response_id });
  const callsOf = (found: readonly PreviousAnswer[]) => found.map(({ call_id }) => call_id);
  /** The node as it stands, by the call that showed it first and its role. */
  const node = async (call_id: string, role: string) => {
    const [row] = await database().sql(
      `select encode(node_hash, 'hex') as node_hash, depth from svc.nodes where call_id = $1 and role = $2`,
      [call_id, role],
    );
    return row;
  };

  test.before.each(() => database().reset());

  test('an id that nobody gave leads nowhere, and neither does none', async () => {
    await takeIn(database(), [call(1, 'resp_1'), call(2, '')]);
    assert.equal(await find('resp_2'), []);
    assert.equal(await find(''), []);
  });

  test('the call, its session and client, and the answer as the node to go on from', async () => {
    const [stored] = await takeIn(database(), [call(1, 'resp_1', { client: 'ada' })]);
    const [session] = await database().sql(`select encode(client_key, 'hex') as client_key from svc.sessions`);
    assert.equal(await find('resp_1'), [
      {
        call_id: requestId(1),
        session_id: stored?.session_id,
        client_key: session?.client_key,
        item_ids: [],
        ...(await node(requestId(1), 'assistant')),
      },
    ]);
  });

  test('an id that was given again and again: the newest sixteen, the newest first', async () => {
    const calls = Array.from({ length: 20 }, (_, n) => call(n, 'resp_1', { client: `client ${n}` }));
    await takeIn(database(), calls);
    assert.equal(
      callsOf(await find('resp_1')),
      Array.from({ length: 16 }, (_, n) => requestId(19 - n)),
    );
  });

  test('calls by items of their answers are looked up, however many ids there are and calls are stored', async () => {
    await database().sql(`
      insert into svc.calls (raw_turn_id, session_id, item_ids)
      select 1000000 + n, gen_random_uuid(), case when n % 2 = 0 then array['msg_' || n, 'rs_' || n] else '{}' end
        from generate_series(1, 20000) as n`);
    await database().sql('analyze svc.calls');
    for (const count of [1, 2, 32]) {
      const item_ids = Array.from({ length: count }, (_, n) => `msg_${2 * n + 2}`);
      const of = { item_ids, of_any: [], client_keys: ['00'], session_id: null };
      const plan = await explained(database(), (db) => referencedAnswers(db, of));
      assert.ok(
        nodesOf(plan).some((node) => node['Index Name'] === 'calls_item_ids'),
        shown(plan),
      );
      assert.ok(readRows(plan) < 1_000, shown(plan));
    }
  });

  test('an answer that says nothing: what goes on from it hangs on the message before', async () => {
    await takeIn(database(), [call(1, 'resp_1', { response: answered('resp_1', null) })]);
    const [found] = await find('resp_1');
    const tip = await node(requestId(1), 'user');
    assert.equal([found?.node_hash, found?.depth], [tip?.node_hash, 0]);
  });

  test('a call whose request cannot be read is found all the same, with no node to go on from', async () => {
    await takeIn(database(), [call(1, 'resp_1', { request: { messages: [{ role: 'nobody' }] } })]);
    const [found] = await find('resp_1');
    assert.equal([found?.call_id, found?.node_hash, found?.depth], [requestId(1), null, 0]);
  });

  test('an ingested call is known by the request id of its sender', async () => {
    const ingest = await testIngest(database());
    await ingest.append(ingestBody(call(1, 'resp_1')), null);
    assert.equal(callsOf(await find('resp_1')), [requestId(1)]);
    const [row] = await database().sql('select svc_proxy_request_id, request_id from svc.raw_turns');
    assert.equal(row, { svc_proxy_request_id: null, request_id: requestId(1) });
  });

  test('the last answers of a conversation are those of its calls that were answered', async () => {
    const inConversation = (n: number, conversation: string, response: string | null) =>
      capturedCall({
        n,
        format: 'openai.responses',
        request: { model: 'gpt-5', input: `Question ${n}`, conversation },
        response,
        status: response === null ? 500 : 200,
      });
    const responseOf = (n: number) =>
      JSON.stringify({
        id: `resp_${n}`,
        object: 'response',
        status: 'completed',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `Answer ${n}` }] }],
      });
    await takeIn(database(), [
      inConversation(1, 'conv_1', responseOf(1)),
      inConversation(2, 'conv_2', responseOf(2)),
      inConversation(3, 'conv_1', responseOf(3)),
      inConversation(4, 'conv_1', null),
    ]);
    const last = (conversation_id: string, before = '2100-01-01T00:00:00Z') =>
      database().execute('lastAnswers', {
        session_id: sessionId('unknown', conversation_id),
        conversation_id,
        before,
      });
    assert.equal(callsOf(await last('conv_1')), [requestId(3), requestId(1)]);
    assert.equal(callsOf(await last('conv_2')), [requestId(2)]);
    assert.equal(await last('conv_3'), []);
    assert.equal(await last(''), []);
    const depths = (await last('conv_1')).map(({ depth }) => depth);
    assert.equal(depths, [3, 1], 'each hangs on the answer before it');
  });
});
