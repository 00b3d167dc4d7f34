/** Do message threads hold together? The official client's tool runner, which sends only what is new, through the real service. */
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import * as assert from 'uvu/assert';
import type { CallContext } from '../../core/model/call-context.ts';
import { type Kept, keeping, TOOL_RESULT } from '../support/official-clients.ts';
import { echoOf } from '../support/scripted-provider.ts';
import { read } from '../support/serve.ts';
import { callsOf, onEachDatabase, recorded, type Stand, sessionsOf } from '../support/whole-service.ts';

const getWeather = betaTool({
  name: 'get_weather',
  description: 'The weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
  run: () => TOOL_RESULT,
});

type Runner = { baseURL: string; answers: Kept[]; stream: boolean; headers?: Record<string, string> };

/** The text of the last answer. */
async function run({ baseURL, answers, stream, headers = {} }: Runner, content: string): Promise<string> {
  const client = new Anthropic({ baseURL, apiKey: 'key-thread', fetch: keeping(answers), defaultHeaders: headers });
  const message = await client.beta.messages.toolRunner({
    ...{ model: 'claude-sonnet-4-6', max_tokens: 500, system: 'Be brief', stream },
    ...{ tools: [getWeather], messages: [{ role: 'user', content }] },
  });
  return message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join();
}

const contextsOf = async ({ service }: Stand, session_id: string): Promise<CallContext[]> => {
  type RawTurns = { items: { raw_turn_id: number }[] };
  const { items } = await read<RawTurns>(`${service.api}/v1/sessions/${session_id}/raw_turns`);
  const ids = items.map(({ raw_turn_id }) => raw_turn_id).sort((a, b) => a - b);
  return Promise.all(ids.map((id) => read<CallContext>(`${service.api}/v1/raw_turns/${id}/context`)));
};

onEachDatabase('message threads of the official client', (test) => {
  let conversations = 0;

  for (const stream of [true, false]) {
    for (const name of ['', `thread-${stream}`]) {
      const how = `${name === '' ? 'without a name' : 'named'}, ${stream ? 'streamed' : 'in one piece'}`;
      test(`the tool runner's calls are one session, each with its whole prompt: ${how}`, async (stand) => {
        const { provider, service } = stand;
        const question = `How is the weather? (${how})`;
        const headers = { 'x-svc-harness-id': 'mine', 'x-svc-harness-session-id': name };
        const direct: Kept[] = [];
        const answers: Kept[] = [];
        const expected = await run({ baseURL: provider.url, answers: direct, stream }, question);
        const sent = provider.requests.length;
        const proxied = { baseURL: `${service.proxy}/anthropic`, answers, stream, ...(name !== '' && { headers }) };
        assert.is(await run(proxied, question), expected);
        conversations++;
        assert.equal(answers, direct, 'every byte that came is that of the direct call');
        const [opening, following] = provider.requests.slice(sent).map(({ body }) => JSON.parse(body));
        assert.equal(opening.thread, { type: 'create' });
        assert.is(following.thread.type, 'continue', 'the client uses a thread');
        assert.equal([following.messages.length, following.system, following.tools], [1, undefined, undefined]);

        const session = await recorded(service, question, 2);
        assert.is(session.traces.length, 1, 'the result opens no trace');
        assert.equal(
          session.traces[0]?.spans.map(({ kind }) => kind),
          ['agent', 'llm', 'tool', 'llm'],
        );
        assert.is(callsOf(session)[0]?.external_id, following.thread.previous_message_id);
        const contexts = await contextsOf(stand, session.session.id);
        assert.equal(
          contexts.map(({ reach, blocks }) => [reach, blocks.map(({ section, label }) => `${section} ${label}`)]),
          [
            ['whole', ['tools get_weather', 'system Be brief', `messages ${question}`]],
            [
              'whole',
              [
                ...['tools get_weather', 'system Be brief', `messages ${question}`],
                ...['messages Let me look.', 'messages get_weather', `messages ${TOOL_RESULT}`],
              ],
            ],
          ],
        );
      });
    }
  }

  test('a thread that is sent to is one session of a trace for each question', async ({ service, provider }) => {
    const questions = ['Hello (sent)', 'And then?', 'Thank you'];
    const client = new Anthropic({ baseURL: `${service.proxy}/anthropic`, apiKey: 'key-sent' });
    const thread = client.beta.messages.thread({ model: 'claude-sonnet-4-6', max_tokens: 500 });
    const replies: unknown[] = [];
    for (const content of questions) replies.push((await thread.send({ role: 'user', content })).content[0]);
    conversations++;
    assert.equal(
      replies.map((block) => (block as { text: string }).text),
      questions.map((_, n) => echoOf(questions.slice(0, n + 1).join(', then '))),
      'the provider remembers',
    );
    assert.is(JSON.parse(provider.requests.at(-1)?.body ?? '').messages.length, 1);
    const session = await recorded(service, questions[0] ?? '', 3);
    assert.equal(
      session.traces.map(({ trace }) => trace.user_prompt),
      questions,
    );
  });

  test('each conversation is one session, and none is a fork', async ({ service }) => {
    const sessions = await sessionsOf(service);
    assert.is(sessions.length, conversations);
    assert.ok(sessions.every(({ fork_of_session_id }) => fork_of_session_id === undefined));
  });

  test.run();
});
