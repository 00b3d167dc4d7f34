/** A request may refer to items of earlier answers instead of repeating them: it goes on from that call, as one with its whole history does. */
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { promptsOf } from '../../../core/engine/prompt/prompts-of.ts';
import { purgeSession } from '../../../core/engine/purge-session.ts';
import { type CallLike, capturedCall, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { breaks, storedRows } from '../../support/stored-conversations.ts';

type Item = Record<string, unknown>;

const user = (text: string): Item => ({ role: 'user', content: [{ type: 'input_text', text }] });
const ref = (id: string): Item => ({ type: 'item_reference', id });
const answered = (n: number): Item => ({
  ...{ id: `msg_${n}`, type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: `Answer ${n}`, annotations: [] }],
});
const thought = (n: number): Item => ({ id: `rs_${n}`, type: 'reasoning', summary: [] });
const toolCall = (n: number): Item => ({
  ...{ id: `fc_${n}`, type: 'function_call', call_id: `call_${n}`, name: 'read', arguments: '{"path":"a"}' },
});
const toolResult = (n: number): Item => ({ type: 'function_call_output', call_id: `call_${n}`, output: `Result ${n}` });
const system: Item = { role: 'developer', content: 'Be brief' };

type Call = { n: number; input: unknown; output?: Item[]; request?: Item; response?: Item; rest?: Partial<CallLike> };

const call = ({ n, input, output = [thought(n), answered(n)], request = {}, response = {}, rest = {} }: Call) =>
  capturedCall({
    n,
    format: 'openai.responses',
    request: { model: 'gpt-5', input, ...request },
    response: JSON.stringify({
      ...{ id: `resp_${n}`, object: 'response', status: 'completed', model: 'gpt-5', store: true, output },
      usage: { input_tokens: 10 * n, output_tokens: 5, total_tokens: 10 * n + 5 },
      ...response,
    }),
    ...rest,
  });

/** Each turn of a conversation as the next request repeats it: by reference, or in full. */
const byReference = (n: number) => [ref(`rs_${n}`), ref(`msg_${n}`)];
const inFull = (n: number) => [thought(n), answered(n)];

const chainOf = (length: number, repeated = byReference, rest: Partial<CallLike> = {}) =>
  Array.from({ length }, (_, i) => {
    const before = Array.from({ length: i }, (__, k) => [user(`Question ${k + 1}`), ...repeated(k + 1)]).flat();
    return call({ n: i + 1, input: [system, ...before, user(`Question ${i + 1}`)], rest });
  });

databaseSuite('references to items of answers', (test, database) => {
  test.before.each(() => database().reset());

  const rowsOf = async (...batches: ReturnType<typeof call>[][]) => {
    await database().reset();
    for (const batch of batches) await takeIn(database(), batch);
    await deriveAll(database());
    return storedRows(database());
  };

  test('a conversation by reference is one session, with the same messages as in full', async () => {
    const full = await rowsOf(chainOf(4, inFull));
    assert.equal(full.sessions, { n: 1 });
    for (const batches of [[chainOf(4)], chainOf(4).map((one) => [one])]) {
      const found = await rowsOf(...batches);
      assert.equal(found, full);
      assert.is(found.nodes.length, 9);
      assert.equal(await breaks(database()), []);
    }
  });

  test('a tool call goes by reference or in full, beside its reasoning', async () => {
    const input = [system, user('Read it')];
    const first = call({ n: 1, input, output: [thought(1), toolCall(1)] });
    const second = (...answer: Item[]) => call({ n: 2, input: [...input, ...answer, toolResult(1)] });
    const third = (...answer: Item[]) =>
      call({ n: 3, input: [...input, ...answer, toolResult(1), ref('rs_2'), answered(2), user('And now?')] });
    const expected = await rowsOf([
      first,
      second(toolCall(1)),
      call({ n: 3, input: [...input, toolCall(1), toolResult(1), answered(2), user('And now?')] }),
    ]);
    assert.equal(expected.sessions, { n: 1 });
    for (const answer of [
      [ref('rs_1'), ref('fc_1')],
      [ref('rs_1'), toolCall(1)],
      [toolCall(1), ref('rs_1')],
      [ref('fc_1')],
    ])
      assert.equal(await rowsOf([first, second(...answer), third(...answer)]), expected);
  });

  test('an approval repeats its reference beside the answer to it', async () => {
    const approvalRequest = (n: number): Item => ({
      ...{ id: `mcpr_${n}`, type: 'mcp_approval_request', server_label: 'files', name: 'rm', arguments: '{}' },
    });
    const approved = (n: number): Item => ({
      type: 'mcp_approval_response',
      approval_request_id: `mcpr_${n}`,
      approve: true,
    });
    const opening = user('Tidy up');
    const first = call({ n: 1, input: [opening], output: [approvalRequest(1), approvalRequest(2)] });
    const expected = await rowsOf([
      first,
      call({ n: 2, input: [opening, approvalRequest(1), approvalRequest(2), approved(1), approved(2)] }),
    ]);
    assert.equal(expected.sessions, { n: 1 });
    const found = await rowsOf([
      first,
      call({
        n: 2,
        input: [opening, ref('mcpr_1'), ref('mcpr_2'), ref('mcpr_1'), approved(1), ref('mcpr_2'), approved(2)],
      }),
    ]);
    assert.equal(found, expected);
  });

  test('whatever the order, it is one session as in its order, and reading it again changes nothing', async () => {
    const inOrder = await rowsOf(chainOf(5));
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(chainOf(5), { minLength: 5 }),
        fc.integer({ min: 1, max: 5 }),
        async (calls, size) => {
          await database().reset();
          for (let from = 0; from < calls.length; from += size)
            await takeIn(database(), calls.slice(from, from + size));
          await deriveAll(database());
          assert.equal(await storedRows(database()), inOrder);
          assert.equal(await breaks(database()), []);
          await database().execute('markFromScratch', { session_id: null });
          await deriveAll(database());
          assert.equal(await storedRows(database()), inOrder);
        },
      ),
      { numRuns: 12, seed: 20_261_130 },
    );
  });

  test('two answers to one question, of which the client goes on from the first', async () => {
    const [first, second] = chainOf(2);
    const other = call({ n: 3, input: [system, user('Question 1'), ...byReference(1), user('Something else')] });
    assert.ok(first && second);
    const { sessions, nodes } = await rowsOf([first, second, other]);
    assert.equal(sessions, { n: 1 });
    assert.is(nodes.filter(({ is_head }) => is_head).length, 2);
  });

  test('items of an answer that the provider does not hold, of another client, or of none are not gone on from', async () => {
    const [first, second] = chainOf(2);
    assert.ok(first && second);
    const unheld = call({ n: 1, input: [system, user('Question 1')], response: { store: false } });
    assert.is((await rowsOf([unheld, second])).sessions?.n, 2);
    assert.is((await rowsOf([first, ...chainOf(2, byReference, { client: 'two' }).slice(1)])).sessions?.n, 2);
    assert.is((await rowsOf([second])).sessions?.n, 1);
    assert.equal(await breaks(database()), []);
  });

  test('an item with an id that no other has is gone on from by any client, as one program may be two', async () => {
    const id = 'msg_0d447a724b353270006a2b3cbb2e2881989e548b7fd191e59d';
    const first = (n: number, client: string) =>
      call({ n, input: [user('Question 1')], output: [{ ...answered(1), id }], rest: { client } });
    const second = call({ n: 3, input: [user('Question 1'), ref(id), user('Go on')], rest: { client: 'two' } });
    for (const batches of [[[first(1, 'one'), second]], [[first(1, 'one')], [second]]])
      assert.equal((await rowsOf(...batches)).sessions, { n: 1 });
    await rowsOf([first(1, 'two'), first(2, 'one'), second]);
    assert.equal(
      await database().sql('select turn_count from svc.sessions order by turn_count'),
      [{ turn_count: 1 }, { turn_count: 2 }],
      'its own client comes first',
    );
    const [identity] = await database().sql(
      "select identity ->> 'continues_call_id' as id from svc.raw_turns where svc_proxy_request_id like '%3'",
    );
    assert.match(String(identity?.id), /1$/);
  });

  const distinctive = (n: number) => `msg_0d447a724b353270006a2b3cbb2e2881989e548b7fd191e5${n}`;

  test('so it is in whatever order its calls come, and whichever of them are stored together', async () => {
    const part = (n: number, client: string) => {
      const before = Array.from({ length: n - 1 }, (_, i) => [user(`Question ${i + 1}`), ref(distinctive(i + 1))]);
      const output = [{ ...answered(n), id: distinctive(n) }];
      return call({ n, input: [...before.flat(), user(`Question ${n}`)], output, rest: { client } });
    };
    const [first, second, third] = [part(1, 'one'), part(2, 'two'), part(3, 'three')];
    const inOrder = await rowsOf([first], [second], [third]);
    assert.equal(inOrder.sessions, { n: 1 });
    const client_key = "select encode(client_key, 'hex') as key from svc.sessions where not is_empty";
    const client = await database().sql(client_key);
    for (const [a, b, c] of [
      [first, second, third],
      [first, third, second],
      [second, first, third],
      [second, third, first],
      [third, first, second],
      [third, second, first],
    ] as const)
      for (const batches of [[[a, b, c]], [[a, b], [c]], [[a], [b], [c]]]) {
        assert.equal(await rowsOf(...batches), inOrder);
        assert.equal(await breaks(database()), []);
        assert.equal(await database().sql(client_key), client, 'the session is of the client that began it');
      }
  });

  test('a call that has found the answer with such an item takes in no other one that has it', async () => {
    const first = (n: number, client: string) =>
      call({ n, input: [user('Question 1')], output: [{ ...answered(1), id: distinctive(1) }], rest: { client } });
    const next = call({
      n: 3,
      input: [user('Question 1'), ref(distinctive(1)), user('Go on')],
      rest: { client: 'two' },
    });
    const [own, foreign] = [first(1, 'two'), first(2, 'one')];
    for (const batches of [
      [[foreign], [own], [next]],
      [[own], [next], [foreign]],
      [[next], [own], [foreign]],
      [[next, own, foreign]],
      [[next], [foreign], [first(4, 'three')]],
      [[next, foreign, first(4, 'three')]],
    ]) {
      await rowsOf(...batches);
      const turns = 'select count(*)::int as n from svc.effective_turns group by session_id order by 1';
      assert.equal(await database().sql(turns), [{ n: 1 }, { n: 2 }]);
    }
  });

  test('a response that is named by such an id is waited for by any client; a named session waits for its own', async () => {
    const id = `resp_${distinctive(1)}`;
    const next = (rest: Partial<CallLike>) =>
      call({ n: 2, input: [user('Go on')], request: { previous_response_id: id }, rest });
    const first = call({ n: 1, input: [user('Question 1')], response: { id }, rest: { client: 'one' } });
    const inOrder = await rowsOf([first], [next({ client: 'two' })]);
    assert.equal(inOrder.sessions, { n: 1 });
    for (const batches of [[[next({ client: 'two' }), first]], [[next({ client: 'two' })], [first]]])
      assert.equal(await rowsOf(...batches), inOrder);
    const headers: [string, string][] = [
      ['x-svc-harness-id', 'mine'],
      ['x-svc-harness-session-id', 'a'],
    ];
    for (const batches of [[[next({ headers }), first]], [[next({ headers })], [first]]])
      assert.equal((await rowsOf(...batches)).sessions, { n: 2 });
  });

  test('of one client whose server numbers its answers anew, the newest is gone on from', async () => {
    const own = (n: number, input: Item[]) => call({ n, input, output: [answered(1)] });
    const { nodes, sessions } = await rowsOf([
      own(1, [user('Monday')]),
      own(2, [user('Tuesday')]),
      call({ n: 3, input: [user('Tuesday'), ref('msg_1'), user('And?')] }),
    ]);
    assert.equal(sessions, { n: 2 });
    assert.equal(nodes.map(({ depth }) => depth).sort(), [0, 0, 1, 1, 2, 3]);
  });

  test('a named session goes on from its own calls alone, whoever its client is', async () => {
    const named = (name: string, client: string): Partial<CallLike> => ({
      client,
      headers: [
        ['x-svc-harness-id', 'mine'],
        ['x-svc-harness-session-id', name],
      ],
    });
    const first = chainOf(1, byReference, named('a', 'one'));
    const second = (name: string) => chainOf(2, byReference, named(name, 'two')).slice(1);
    const own = await rowsOf([...first, ...second('a')]);
    assert.equal([own.sessions?.n, own.nodes.filter(({ is_root }) => is_root).length], [1, 1]);
    const other = await rowsOf([...first, ...second('b')]);
    assert.equal([other.sessions?.n, other.nodes.filter(({ is_root }) => is_root).length], [2, 2]);
  });

  test('of two sessions with an item of one id the named one is gone on from', async () => {
    const named = (name: string): Partial<CallLike> => ({
      headers: [
        ['x-svc-harness-id', 'mine'],
        ['x-svc-harness-session-id', name],
      ],
    });
    const of = (name: string, n: number) =>
      call({ n, input: [user(`Question ${name}`)], output: [answered(1)], rest: named(name) });
    const next = call({ n: 3, input: [user('Question a'), ref('msg_1'), user('Go on')], rest: named('a') });
    for (const batches of [[[of('a', 1), of('b', 2), next]], [[of('a', 1)], [of('b', 2)], [next]]]) {
      const { nodes } = await rowsOf(...batches);
      assert.is(nodes.filter(({ is_root }) => is_root).length, 2);
    }
  });

  test('where the last item is not known, reading again goes on from the same answer', async () => {
    const first = call({ n: 1, input: [user('Question 1')] });
    const second = call({
      n: 2,
      input: [user('Question 1'), ref('msg_1'), user('and'), ref('msg_x'), user('Question 2')],
    });
    const third = call({
      n: 3,
      input: [
        user('Question 1'),
        ref('msg_1'),
        user('Question 2'),
        ref('msg_2'),
        user('and'),
        ref('msg_y'),
        user('Go on'),
      ],
    });
    const found = await rowsOf([first], [second], [third]);
    assert.equal([found.sessions, found.nodes.filter(({ is_root }) => is_root).length], [{ n: 1 }, 1]);
    await database().execute('markFromScratch', { session_id: null });
    await deriveAll(database());
    assert.equal(await storedRows(database()), found);
    const [session_id = ''] = await database().execute('sessionIds', { after: null, limit: 1 });
    const reach: string[] = [];
    for await (const { prompt } of promptsOf(database().execute, session_id)) reach.push(prompt.reach);
    assert.equal(reach, ['whole', 'tail', 'tail']);
  });

  test('what the client has dropped, or ends with, is still gone on from', async () => {
    const [first, second] = chainOf(2);
    assert.ok(first && second);
    const dropped = call({ n: 3, input: [ref('msg_2'), user('Question 3')] });
    const ends = call({ n: 4, input: [ref('msg_2'), user('Question 3'), ref('rs_3'), ref('msg_3')] });
    const { sessions, nodes } = await rowsOf([first, second, dropped, ends]);
    assert.equal(sessions, { n: 1 });
    assert.equal(
      nodes.map(({ depth }) => depth).sort((a, b) => Number(a) - Number(b)),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
    assert.equal(await breaks(database()), []);
  });

  test('a request that names its answer goes on from that one, whatever it refers to', async () => {
    const [first, second] = chainOf(2);
    assert.ok(first && second);
    const third = call({
      ...{ n: 3, input: [ref('msg_2'), user('Question 3')] },
      request: { previous_response_id: 'resp_1' },
    });
    await rowsOf([first, second, third]);
    const [identity] = await database().sql(
      "select identity ->> 'continues_call_id' as id from svc.raw_turns where svc_proxy_request_id like '%3'",
    );
    assert.match(String(identity?.id), /1$/);
  });

  test('a stream that was torn is gone on from by the items that came', async () => {
    const events = [
      {
        type: 'response.created',
        response: { id: 'resp_1', object: 'response', status: 'in_progress', model: 'gpt-5', store: true },
      },
      { type: 'response.output_item.done', output_index: 0, item: answered(1) },
    ];
    const torn = capturedCall({
      ...{ n: 1, format: 'openai.responses' as const, responseHeaders: [['content-type', 'text/event-stream']] },
      request: { model: 'gpt-5', stream: true, input: [user('Question 1')] },
      response: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
    });
    const { sessions } = await rowsOf([torn, call({ n: 2, input: [user('Question 1'), ref('msg_1'), user('Go on')] })]);
    assert.equal(sessions, { n: 1 });
  });

  test('calls of a build without items are gone on from once their session is read again', async () => {
    const [first, second, third] = chainOf(3);
    assert.ok(first && second && third);
    await takeIn(database(), [first, second]);
    await database().sql("update svc.calls set item_ids = '{}', item_reference = ''");
    await deriveAll(database());
    assert.equal(await breaks(database()), []);
    await database().execute('markFromScratch', { session_id: null });
    await deriveAll(database());
    await takeIn(database(), [third]);
    await deriveAll(database());
    assert.equal((await storedRows(database())).sessions, { n: 1 });
  });

  test('the prompt of such a call is its whole conversation, each answer once', async () => {
    await takeIn(database(), chainOf(3));
    await deriveAll(database());
    const [session_id = ''] = await database().execute('sessionIds', { after: null, limit: 1 });
    const prompts: { reach: string; blocks: string[] }[] = [];
    for await (const { prompt } of promptsOf(database().execute, session_id))
      prompts.push({
        reach: prompt.reach,
        blocks: prompt.blocks.map(({ section, kind, path, label }) => `${section} ${kind} ${path} ${label}`),
      });
    assert.equal(prompts.at(-1), {
      reach: 'whole',
      blocks: [
        'system instructions input[0].content Be brief',
        'messages held  Question 1',
        'messages held  Answer 1',
        'messages held  Question 2',
        'messages held  Answer 2',
        'messages user input[7].content[0] Question 3',
      ],
    });
  });

  test('a purge leaves no slice of such calls, in whatever order they came', async () => {
    for (const calls of [chainOf(3), chainOf(3).reverse()]) {
      await rowsOf(calls);
      for (const session_id of await database().execute('sessionIds', { after: null, limit: 9 }))
        await purgeSession(database().execute, { session_id, reason: 'test' });
      assert.equal(await database().sql('select count(*)::int as n from svc.slices'), [{ n: 0 }]);
    }
  });
});
