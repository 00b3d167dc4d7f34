/** The prompts of calls that came over a WebSocket: each request holds only what is new, and the provider held the rest. */
import * as assert from 'uvu/assert';
import type { SessionCache } from '../../core/model/cache-break.ts';
import type { BlockContent, CallContext } from '../../core/model/call-context.ts';
import { type Message, socketClient, socketProvider } from '../support/responses-socket.ts';
import { responseEvents } from '../support/responses-streams.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { startUpstream } from '../support/upstream.ts';
import { callsOf, onEachDatabase, type Recorded, sessionsOf } from '../support/whole-service.ts';

type Reply = { output: Message[]; input_tokens: number; cached_tokens?: number };

const replies: Reply[] = []; // the next is the first
let number = 0; // ids are of this run and not of a socket, as a provider's are
const upstream = await startUpstream([{ status: 404 }]);
upstream.onUpgrade(
  socketProvider((socket, { previous_response_id = null }) => {
    const { output, input_tokens, cached_tokens = 0 } = replies.shift() ?? { output: [], input_tokens: 0 };
    const usage = {
      ...{ input_tokens, input_tokens_details: { cached_tokens }, output_tokens: 5, total_tokens: input_tokens + 5 },
    };
    const id = `resp_held_${++number}`;
    const document = { id, object: 'response' as const, status: 'completed', model: 'gpt-5', previous_response_id };
    for (const event of responseEvents({ ...document, output, usage })) socket.send(JSON.stringify(event));
  }).answer,
);
let databases = 0; // that are still to be tried

const words = (count: number, word: string) => `${word} `.repeat(count).trim();
const user = (text: string) => [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
const message = (text: string): Message => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [] }],
});
const functionCall = (call_id: string): Message => ({
  ...{
    id: `fc_${call_id}`,
    type: 'function_call',
    status: 'completed',
    call_id,
    name: 'read',
    arguments: '{"path":"a"}',
  },
});
const functionResult = (call_id: string, output: string) => [{ type: 'function_call_output', call_id, output }];
const readTool = (description: string) => ({ type: 'function', name: 'read', description, parameters: {} });

type Client = Awaited<ReturnType<typeof socketClient>>;
const connect = (service: Service, headers: Record<string, string> = {}) =>
  socketClient(`${service.proxy}/openai/v1/responses`, { headers });
const close = async ({ socket, closed }: Client) => {
  socket.close(1000);
  await closed;
};

/** Resolves with the id of the response. */
async function call(client: Client, request: object, reply: Reply): Promise<string> {
  const ends = () => client.events().filter(({ type }) => type === 'response.completed');
  const before = ends().length;
  replies.push(reply);
  client.send({ type: 'response.create', model: 'gpt-5', ...request });
  const end = await eventually('the end of a response', async () => ends()[before]);
  return String((end.response as Message).id);
}

/** The session that began so, once so many of its calls are derived. */
const sessionOf = (service: Service, opening: string, calls: number): Promise<Recorded> =>
  eventually(
    `${calls} calls of the session that began with "${opening}"`,
    async () => {
      const session = (await sessionsOf(service)).find(({ rollup }) => rollup.preview === opening);
      const document = session && (await read<Recorded>(`${service.api}/v1/sessions/${session.id}/traces`));
      return document && callsOf(document).length === calls && document;
    },
    40_000,
  );

const contextsOf = async ({ api }: Service, session: Recorded): Promise<CallContext[]> => {
  type RawTurns = { items: { raw_turn_id: number }[] };
  const { items } = await read<RawTurns>(`${api}/v1/sessions/${session.session.id}/raw_turns?limit=50`);
  const ids = items.map(({ raw_turn_id }) => raw_turn_id).sort((a, b) => a - b);
  return Promise.all(ids.map((id) => read<CallContext>(`${api}/v1/raw_turns/${id}/context`)));
};

const shape = ({ blocks }: CallContext) =>
  blocks.map(({ kind, role, path, label }) => [kind, role, path, label.slice(0, 30)].join(' | '));
const blockOf = ({ api }: Service, context: CallContext | undefined, n: number) =>
  read<BlockContent>(`${api}/v1/raw_turns/${context?.raw_turn_id}/blocks/${n}`);
const sum = (numbers: readonly (number | null)[]) => numbers.reduce<number>((total, one) => total + (one ?? 0), 0);
const billed = ({ blocks, unattributed_tokens }: CallContext) =>
  sum(blocks.map(({ tokens }) => tokens)) + unattributed_tokens;

/** The rows of the chain: what each of its requests has, and what the provider held for the last. */
const fixed = [
  'tool-definition |  | tools[0] | read',
  'instructions | system | instructions | Be brief. rule rule rule rule ',
];
const heldRows = [
  'held | user |  | Read the file',
  'held | assistant |  | I shall read it',
  'held | assistant |  | read',
  'held | tool |  | the text of a',
  'held | assistant |  | It is short',
  'held | user |  | Thank you',
  'held | assistant |  | At your service',
];

onEachDatabase(
  'prompts over a WebSocket',
  (test) => {
    test('a chain over two sockets: what was held, its tokens, its spans, and the break by a changed tool', async ({
      service,
    }) => {
      const opening = 'Read the file';
      const instructions = `Be brief. ${words(4_000, 'rule')}`;
      const tools = [readTool('Reads a file.')];
      const first = await connect(service);
      const one = await call(
        first,
        { instructions, tools, input: user(opening) },
        { output: [message('I shall read it'), functionCall('call_1')], input_tokens: 4_100 },
      );
      const two = await call(
        first,
        { instructions, tools, input: functionResult('call_1', 'the text of a'), previous_response_id: one },
        { output: [message('It is short')], input_tokens: 4_180, cached_tokens: 4_096 },
      );
      await close(first);
      const second = await connect(service); // the provider holds a conversation, not a socket
      const changed = [readTool('Reads a file from the disk.')];
      const three = await call(
        second,
        { instructions, tools: changed, input: user('Thank you'), previous_response_id: two },
        { output: [message('At your service')], input_tokens: 4_240 },
      );
      await call(
        second,
        { instructions, tools: changed, input: user('Good bye'), previous_response_id: three },
        { output: [message('Bye')], input_tokens: 4_280, cached_tokens: 4_224 },
      );
      await close(second);

      const session = await sessionOf(service, opening, 4);
      const contexts = await contextsOf(service, session);
      const [begun, , broken] = contexts;
      assert.equal(contexts.map(shape), [
        [...fixed, 'user | user | input[0].content[0] | Read the file'],
        [...fixed, ...heldRows.slice(0, 3), 'tool-result | tool | input[0] | the text of a'],
        [...fixed, ...heldRows.slice(0, 5), 'user | user | input[0].content[0] | Thank you'],
        [...fixed, ...heldRows, 'user | user | input[0].content[0] | Good bye'],
      ]);
      assert.ok(contexts.every(({ reach }) => reach === 'whole'));
      assert.equal(contexts.map(billed), [4_100, 4_180, 4_240, 4_280]);
      assert.equal(
        contexts.map(({ unattributed_tokens }) => unattributed_tokens),
        [0, 0, 0, 0],
      );
      assert.ok(contexts.every(({ blocks }) => blocks.every(({ tokens }) => (tokens ?? 0) > 0)));
      assert.equal(
        contexts.map(({ blocks }) => blocks.map((block) => block.billed_as ?? '').filter((as) => as === 'read').length),
        [0, 3, 0, 6],
      );

      const [calling, answering, thanked, parting] = callsOf(session).map(({ span_id }) => span_id);
      const tool = session.traces.flatMap(({ spans }) => spans).find(({ kind }) => kind === 'tool')?.span_id;
      assert.equal(
        contexts.at(-1)?.blocks.map(({ span }) => span?.span_id),
        [thanked, calling, calling, calling, tool, tool, answering, thanked, thanked, parting],
        'an answer is shown by the call that gave it, also where the next call had other tools',
      );
      const ids = contexts.map(({ raw_turn_id }) => raw_turn_id);
      assert.equal(
        contexts.at(-1)?.blocks.map(({ since }) => ids.indexOf(since ?? 0)),
        [2, 0, 0, 1, 1, 1, 2, 2, 3, 3],
      );

      const sent = await blockOf(service, begun, 2);
      const held = await blockOf(service, broken, 2);
      assert.equal([held.id, held.json, held.text, held.path], [sent.id, sent.json, opening, '']);
      assert.is((await blockOf(service, broken, 6)).text, 'It is short');

      assert.equal(
        contexts.map(({ break: found }) => found && [found.cause, found.ground, found.planned]),
        [null, null, ['tools', 'bytes', false], null],
      );
      assert.equal(broken?.break?.where, {
        ...{ section: 'tools', block: 0, path: 'tools[0].description', char: 'Reads a file'.length },
      });
      assert.is(broken?.break?.before?.raw_turn_id, ids[1]);
      const cache = await read<SessionCache>(`${service.api}/v1/sessions/${session.session.id}/cache`);
      assert.equal([cache.verdict, cache.calls, cache.truncated], ['judged', 4, false]);
      assert.equal(cache.breaks, [broken?.break]);
    });

    test('of answers to the same prompt the one that is gone on from is held, and shown by its own call', async ({
      service,
    }) => {
      const client = await connect(service, {
        'x-svc-harness-id': 'mine',
        'x-svc-harness-session-id': 'colours',
      });
      const input = user('Name a colour');
      const one = await call(client, { input }, { output: [message('Red')], input_tokens: 40 });
      await call(client, { input }, { output: [message('Blue')], input_tokens: 40 });
      await call(
        client,
        { input: user('Why?'), previous_response_id: one },
        { output: [message('It is warm')], input_tokens: 60 },
      );
      await close(client);
      const session = await sessionOf(service, 'Name a colour', 3);
      const last = (await contextsOf(service, session)).at(-1);
      assert.equal(last && shape(last), [
        'held | user |  | Name a colour',
        'held | assistant |  | Red',
        'user | user | input[0].content[0] | Why?',
      ]);
      const red = callsOf(session).find(({ output }) => output[0]?.text === 'Red');
      assert.is(last?.blocks[1]?.span?.span_id, red?.span_id);
      assert.is(last && billed(last), 60);
    });

    test('a warm-up holds its input, and of a chain whose beginning is not recorded there is the tail', async ({
      service,
    }) => {
      const client = await connect(service);
      const warm = await call(client, { input: user('Warm up'), generate: false }, { output: [], input_tokens: 30 });
      const first = await call(
        client,
        { input: [], previous_response_id: warm },
        { output: [message('I am warm')], input_tokens: 30 },
      );
      await call(
        client,
        { input: user('Go on'), previous_response_id: first },
        { output: [message('Gone')], input_tokens: 44 },
      );
      const warmed = await contextsOf(service, await sessionOf(service, 'Warm up', 3));
      assert.equal(warmed.map(shape), [
        ['user | user | input[0].content[0] | Warm up'],
        ['held | user |  | Warm up'],
        ['held | user |  | Warm up', 'held | assistant |  | I am warm', 'user | user | input[0].content[0] | Go on'],
      ]);
      assert.equal(warmed.map(billed), [30, 30, 44]);
      assert.ok(warmed.every(({ reach }) => reach === 'whole'));

      await call(
        client,
        { input: user('Where were we?'), previous_response_id: 'resp_of_another_day' },
        { output: [message('Here')], input_tokens: 9_000 },
      );
      await close(client);
      const [tail] = await contextsOf(service, await sessionOf(service, 'Where were we?', 1));
      assert.equal([tail?.reach, tail?.blocks.length, tail && billed(tail)], ['tail', 1, 9_000]);
      assert.ok((tail?.unattributed_tokens ?? 0) > 8_000);
    });

    databases++;
    test.after(async () => {
      if (--databases === 0) await upstream.close();
    });
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_OPENAI: upstream.url },
);
