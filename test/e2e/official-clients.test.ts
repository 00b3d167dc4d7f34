/** What the official clients show and what goes wrong for them: images, refusals, retries, broken streams, as without the service. */
import * as assert from 'uvu/assert';
import { type Conversation, type OfficialClient, officialClients } from '../support/official-clients.ts';
import { echoOf } from '../support/scripted-provider.ts';
import {
  type Block,
  callsOf,
  onEachDatabase,
  type Recorded,
  recorded,
  type Span,
  type Stand,
  sessionsOf,
} from '../support/whole-service.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

type Case = {
  client: OfficialClient;
  /** Of the first question of a conversation. */
  tokens: Tokens;
  /** The provider's words for what went wrong. */
  errors: { busy: string; malformed: string; overloaded: string };
  statuses: { busy: number; overloaded: number };
  retries: boolean; // by itself
  remembers: boolean; // sends what was said before
};
type Tokens = [input: number, output: number, cached: number, reasoning: number, cost_usd: number | null];

const { anthropic, gemini, openaiChat, openaiResponses, ollamaChat, ollamaBare, ollamaGenerate } = officialClients;

const ofOllama = {
  tokens: [26, 12, 0, 0, null] as Tokens,
  errors: { busy: 'error', malformed: 'error', overloaded: 'error' }, // it has words for people only
  statuses: { busy: 503, overloaded: 500 },
  retries: false,
};
const ofOpenai = {
  errors: { busy: 'requests', malformed: 'invalid_request_error', overloaded: 'server_error' },
  statuses: { busy: 429, overloaded: 500 },
  retries: true,
  remembers: true,
};

const cases: Case[] = [
  {
    client: anthropic,
    // 1000 at 3, 200 written at 3.75, 300 read at 0.30, 50 at 15 USD per million
    tokens: [1500, 50, 300, 0, 0.00459],
    errors: { busy: 'rate_limit_error', malformed: 'invalid_request_error', overloaded: 'overloaded_error' },
    statuses: { busy: 429, overloaded: 529 },
    retries: true,
    remembers: true,
  },
  {
    client: gemini,
    // 600 at 0.30, 400 read at 0.03, 40 at 2.50
    tokens: [1000, 40, 400, 10, 0.000292],
    errors: { busy: 'RESOURCE_EXHAUSTED', malformed: 'INVALID_ARGUMENT', overloaded: 'UNAVAILABLE' },
    statuses: { busy: 429, overloaded: 503 },
    retries: false,
    remembers: true,
  },
  // 600 at 0.15, 400 read at 0.075, 30 at 0.60
  { client: openaiChat, tokens: [1000, 30, 400, 0, 0.000138], ...ofOpenai },
  // 600 at 0.25, 400 read at 0.025, 30 at 2
  { client: openaiResponses, tokens: [1000, 30, 400, 0, 0.00022], ...ofOpenai },
  { client: ollamaChat, ...ofOllama, remembers: true },
  { client: ollamaBare, ...ofOllama, remembers: true },
  { client: ollamaGenerate, ...ofOllama, remembers: false },
];

/** What became of a question: its answer, or the client's error. */
const outcomeOf = ({ ask }: Conversation, question: string, image?: string): Promise<string> =>
  ask(question, image).catch((error: Error) => `${error.constructor.name}: ${error.message}`);

/** Has the same conversation directly and through the proxy, and compares all that came; the outcomes, in order. */
async function bothWays(
  { provider, service }: Stand,
  client: OfficialClient,
  stream: boolean,
  converse: (conversation: Conversation) => Promise<string[]>,
): Promise<{ outcomes: string[]; statuses: number[] }> {
  const sent = provider.requests.length;
  const direct = client.open(provider.url, { key: 'key-direct', stream });
  const expected = await converse(direct);
  const half = provider.requests.length;
  const proxied = client.open(`${service.proxy}${client.prefix}`, { key: 'key-proxied', stream });
  const outcomes = await converse(proxied);
  assert.equal(outcomes, expected, 'the client meets the same');
  assert.equal(proxied.answers, direct.answers, 'every byte that came is that of the direct call');
  const bodies = provider.requests.slice(sent).map(({ method, url, body }) => `${method} ${url} ${body}`);
  assert.equal(bodies.slice(half - sent), bodies.slice(0, half - sent), 'and every byte that went');
  return { outcomes, statuses: proxied.answers.map(({ status }) => status) };
}

async function inTurn<T>(steps: readonly (() => Promise<T>)[]): Promise<T[]> {
  const done: T[] = [];
  for (const step of steps) done.push(await step());
  return done;
}

const tokensOf = ({ usage }: Span): Tokens => [
  usage.input_tokens,
  usage.output_tokens,
  usage.cache_read_tokens,
  usage.reasoning_tokens,
  usage.cost_usd,
];
const nothing: Tokens = [0, 0, 0, 0, null];

const statusesOf = (session: Recorded) => callsOf(session).map(({ status, error_type = '' }) => [status, error_type]);

/** From which span to which. */
const retries = ({ links }: Recorded) =>
  links.filter(({ kind }) => kind === 'retry-of').map(({ from_span_id, to_span_id }) => [from_span_id, to_span_id]);

onEachDatabase('what the official clients show and meet', (test) => {
  let conversations = 0;

  for (const { client, tokens, errors, statuses, retries: retriesItself, remembers } of cases) {
    for (const stream of [true, false]) {
      test(`${client.name}, ${stream ? 'streamed' : 'in one piece'}: an image is a block of the question`, async (stand) => {
        const question = `What is in the picture? (${client.name} ${stream})`;
        const { outcomes } = await bothWays(stand, client, stream, async (conversation) => [
          await outcomeOf(conversation, question, PNG),
          ...(remembers ? [await outcomeOf(conversation, 'Thank you')] : []),
        ]);
        conversations++;
        assert.equal(outcomes, [echoOf(question), echoOf('Thank you')].slice(0, remembers ? 2 : 1));

        const session = await recorded(stand.service, question, outcomes.length);
        assert.is(session.traces.length, outcomes.length, 'one question is one trace');
        const [first, second] = callsOf(session) as [Span, Span];
        const image = { type: 'image', media_type: 'image/png', image_base64: PNG };
        assert.equal(byType(first.input), [image, { type: 'text', text: question }]);
        assert.equal(first.output, [{ type: 'text', text: echoOf(question) }]);
        assert.equal(tokensOf(first), tokens);
        if (remembers) assert.equal(second.input, [{ type: 'text', text: 'Thank you' }], 'it is not shown again');
      });
    }

    test(`${client.name}: a call that was turned away and is tried again is linked, and counted once`, async (stand) => {
      const question = `Are you busy? (${client.name})`;
      const hello = `Hello (${client.name})`;
      // an opening that fails is gone on with only by a client that says that it tries again
      const questions = retriesItself ? [question] : [hello, question, question];
      const { outcomes, statuses: met } = await bothWays(stand, client, true, (conversation) =>
        inTurn(questions.map((one) => () => outcomeOf(conversation, one))),
      );
      conversations += remembers ? 1 : questions.length;
      assert.equal(met, retriesItself ? [statuses.busy, 200] : [200, statuses.busy, 200]);
      assert.is(outcomes.at(-1), echoOf(question));
      if (!remembers) return;

      const session = await recorded(stand.service, questions[0] ?? '', met.length);
      const prompts = session.traces.map(({ trace }) => trace.user_prompt);
      assert.equal(prompts, [...new Set(questions)], 'the retry is in the trace of what it tries again');
      const [failed, answered] = callsOf(session).slice(-2) as [Span, Span];
      assert.equal(statusesOf(session).slice(-2), [
        ['error', errors.busy],
        ['ok', ''],
      ]);
      assert.equal(retries(session), [[answered.span_id, failed.span_id]]);
      assert.equal([tokensOf(failed), tokensOf(answered)], [nothing, tokens]);
      assert.equal(failed.output, []);
      assert.is(session.traces.at(-1)?.trace.status, 'ok', 'what a retry made good has not failed');
    });

    test(`${client.name}: what the provider refuses is an error with the provider's word`, async (stand) => {
      const question = `Is this malformed? (${client.name})`;
      const { outcomes, statuses: met } = await bothWays(stand, client, false, async (conversation) => [
        await outcomeOf(conversation, question),
      ]);
      conversations++;
      assert.equal(met, [400]);
      assert.match(outcomes[0] ?? '', 'is malformed');

      const session = await recorded(stand.service, question, 1);
      assert.equal(statusesOf(session), [['error', errors.malformed]]);
      assert.equal(callsOf(session).map(tokensOf), [nothing]);
      assert.is(session.traces[0]?.trace.status, 'error');
    });

    test(`${client.name}: an overloaded provider is an error, each time it is asked`, async (stand) => {
      const question = `Are you overloaded? (${client.name})`;
      const times = retriesItself ? 2 : 1;
      const { statuses: met } = await bothWays(stand, client, true, async (conversation) => [
        await outcomeOf(conversation, question),
      ]);
      conversations++;
      assert.equal(met, Array(times).fill(statuses.overloaded));

      const session = await recorded(stand.service, question, times);
      assert.is(session.traces.length, 1);
      assert.equal(statusesOf(session), Array(times).fill(['error', errors.overloaded]));
      assert.is(retries(session).length, times - 1);
    });

    test(`${client.name}: of a stream that breaks off, what came is kept`, async (stand) => {
      const question = `Please break off in the middle of what you say (${client.name})`;
      const { outcomes, statuses: met } = await bothWays(stand, client, true, async (conversation) => [
        await outcomeOf(conversation, question),
      ]);
      conversations++;
      assert.equal(met, [200]);
      assert.match(outcomes[0] ?? '', 'Error: ');

      const session = await recorded(stand.service, question, 1);
      assert.equal(statusesOf(session), [['partial', 'upstream_cut']]);
      const text = callsOf(session)[0]?.output[0]?.text ?? '';
      assert.ok(text.length > 10 && text.length < echoOf(question).length, `${text.length} characters came`);
      assert.ok(echoOf(question).startsWith(text));
      assert.is(session.traces[0]?.trace.response_preview, text.trim());
    });
  }

  test('each conversation is one session, and none is a fork', async ({ service }) => {
    const sessions = await sessionsOf(service);
    assert.is(sessions.length, conversations);
    assert.equal(
      sessions.filter(({ fork_of_session_id }) => fork_of_session_id !== undefined),
      [],
    );
  });

  test.run();
});

/** Some clients put the image first, some the words. */
const byType = (blocks: readonly Block[]) => blocks.toSorted((a, b) => (a.type < b.type ? -1 : 1));
