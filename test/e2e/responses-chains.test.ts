/** Do conversations hold together that the provider keeps? What a request names and does not repeat, official client, real service. */
import { join } from 'node:path';
import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { derivedRows } from '../support/derived-rows.ts';
import { type Kept, keeping, responsesBody, TOOL_RESULT } from '../support/official-clients.ts';
import { echoOf } from '../support/scripted-provider.ts';
import { eventually, read } from '../support/serve.ts';
import {
  callsOf,
  onEachDatabase,
  type Recorded,
  recorded,
  type Span,
  type Stand,
  sessionsOf,
} from '../support/whole-service.ts';

type Response = OpenAI.Responses.Response;
type Input = string | OpenAI.Responses.ResponseInputItem[];
type On = { previous_response_id?: string; conversation?: { id: string } };
type Caller = { client: OpenAI; answers: Kept[]; say(input: Input, on?: On): Promise<Response> };

/** `say` goes on from what it is given, and from nothing when that is nothing. */
function openCaller(base: string, { stream, key = 'key-one' }: { stream: boolean; key?: string }): Caller {
  const answers: Kept[] = [];
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: key, fetch: keeping(answers), maxRetries: 1 });
  return {
    client,
    answers,
    say: (input, on = {}) => {
      const body = { ...responsesBody, input, ...on };
      return stream ? client.responses.stream(body).finalResponse() : client.responses.create(body);
    },
  };
}

/** How the provider is told what a request goes on from: what the first one names, and what each later one does. */
type Way = { begin(caller: Caller, about: string): Promise<On>; after(on: On, response: Response): On };
const ways: Record<string, Way> = {
  previous_response_id: {
    begin: async () => ({}),
    after: (_, { id }) => ({ previous_response_id: id }),
  },
  conversation: {
    begin: async ({ client }, about) => {
      const { id } = await client.conversations.create({ metadata: { about } });
      return { conversation: { id } };
    },
    after: (on) => on,
  },
};

/** Each time it says something, it goes on from what was said before. */
type Chain = { say(input: Input): Promise<Response>; on(): On };

async function openChain(caller: Caller, way: Way, about: string): Promise<Chain> {
  let on = await way.begin(caller, about);
  return {
    on: () => on,
    say: async (input) => {
      const response = await caller.say(input, on);
      on = way.after(on, response);
      return response;
    },
  };
}

const proxied = ({ service }: Stand) => `${service.proxy}/openai`;
const named = (stream: boolean) => (stream ? 'streamed' : 'in one piece');

/** What the script answers to the last of these questions. */
const scriptedReply = (questions: readonly string[]) => echoOf(questions.join(', then '));

function resultFor({ output }: Response): Input {
  const use = output.find((item) => item.type === 'function_call');
  if (!use) throw new Error('Cannot bring a result: no tool was called');
  return [{ type: 'function_call_output', call_id: use.call_id, output: TOOL_RESULT }];
}

/** Each call by the provider's id of its answer, in their order. */
const idsOf = (session: Recorded) => callsOf(session).map(({ external_id }) => external_id);
const promptsOf = ({ traces }: Recorded) => traces.map(({ trace }) => trace.user_prompt);

/** The roles of so many turns in which nothing is called. */
const turns = (count: number) => Array<string>(count).fill('user assistant').join(' ');

onEachDatabase('conversations that the provider keeps', (test) => {
  let conversations = 0;
  const shapes = new Map<string, { session: Recorded; roles: string[] }>();
  /** @param roles from the root to each answer. Looked at in the end: the API does not show on what a message hangs. */
  const hangs = (rule: string, session: Recorded, roles: string[]) => {
    conversations++;
    shapes.set(rule, { session, roles });
  };
  const begun = new Map<string, { opening: string; on: On }>(); // a conversation of each way

  for (const [by, way] of Object.entries(ways)) {
    for (const stream of [true, false]) {
      for (const paused of [true, false]) {
        const rule = `by ${by}, ${named(stream)}, ${paused ? 'each once the one before was read' : 'at once'}`;
        test(`three calls are one session of three turns: ${rule}`, async (stand) => {
          const questions = ['Hello', 'And then?', 'Thank you'].map((words) => `${words} (${rule})`);
          const [opening = ''] = questions;
          const chain = await openChain(openCaller(proxied(stand), { stream }), way, rule);
          const responses: Response[] = [];
          for (const question of questions) {
            responses.push(await chain.say(question));
            if (paused) await recorded(stand.service, opening, responses.length);
          }
          const expected = questions.map((_, n) => scriptedReply(questions.slice(0, n + 1)));
          const texts = responses.map(({ output_text }) => output_text);
          assert.equal(texts, expected, 'the provider remembers');

          const session = await recorded(stand.service, opening, 3);
          hangs(rule, session, [turns(1), turns(2), turns(3)]);
          const ids = responses.map(({ id }) => id);
          assert.equal(idsOf(session), ids);
          assert.equal(promptsOf(session), questions, 'each question is a trace');
          assert.equal(
            session.traces.map(({ trace }) => trace.response_preview),
            expected,
          );
          assert.equal(
            callsOf(session).map(({ usage }) => [usage.input_tokens, usage.output_tokens]),
            [
              [1000, 30],
              [1100, 20],
              [1100, 20],
            ],
          );
          begun.set(by, { opening, on: chain.on() });
        });
      }

      const rule = `by ${by}, ${named(stream)}, with a tool`;
      test(`the result of a tool is joined to its call: ${rule}`, async (stand) => {
        const opening = `Hello (${rule})`;
        const question = `What is the weather in Oslo? (${rule})`;
        const chain = await openChain(openCaller(proxied(stand), { stream }), way, rule);
        const hello = await chain.say(opening);
        const use = await chain.say(question);
        const answer = await chain.say(resultFor(use));
        const thanks = await chain.say('Thank you');
        assert.is(answer.output_text, 'It is 7 degrees in Oslo.');

        const session = await recorded(stand.service, opening, 4);
        const withTool = `${turns(2)} tool assistant`;
        hangs(rule, session, [turns(1), turns(2), withTool, `${withTool} ${turns(1)}`]);
        assert.equal(
          idsOf(session),
          [hello, use, answer, thanks].map(({ id }) => id),
        );
        assert.equal(promptsOf(session), [opening, question, 'Thank you'], 'the result opens no trace');
        const spans = session.traces[1]?.spans ?? [];
        assert.equal(
          spans.map(({ kind }) => kind),
          ['agent', 'llm', 'tool', 'llm'],
        );
        const [, call, tool, last] = spans as [Span, Span, Span, Span];
        assert.equal(tool.input[0]?.tool_input, { city: 'Oslo', unit: 'C' });
        assert.is(tool.output[0]?.tool_output, TOOL_RESULT);
        const linked = session.links.map(({ kind, from_span_id, to_span_id }) => [kind, from_span_id, to_span_id]);
        assert.equal(linked.sort(), [
          ['emits', call.span_id, tool.span_id],
          ['feeds', tool.span_id, last.span_id],
        ]);
      });
    }

    const again = `by ${by}, again and again`;
    test(`words that are said again are a turn of their own, by ${by}`, async (stand) => {
      const opening = `Go on (${again})`;
      const chain = await openChain(openCaller(proxied(stand), { stream: false }), way, again);
      const ids = [await chain.say(opening), await chain.say(opening), await chain.say(opening)].map(({ id }) => id);
      const session = await recorded(stand.service, opening, 3);
      hangs(again, session, [turns(1), turns(2), turns(3)]);
      assert.equal(idsOf(session), ids);
      assert.equal(promptsOf(session), [opening, opening, opening]);
    });

    const retried = `by ${by}, with a retry`;
    test(`a call that was turned away hangs where it did when it is tried again, by ${by}`, async (stand) => {
      const questions = [`Hello (${retried})`, `Are you busy? (${retried})`, `Thank you (${retried})`];
      const [opening = ''] = questions;
      const chain = await openChain(openCaller(proxied(stand), { stream: true }), way, retried);
      for (const question of questions) await chain.say(question);
      const session = await recorded(stand.service, opening, 4);
      hangs(retried, session, [turns(1), turns(2), turns(3)]);
      assert.equal(promptsOf(session), questions, 'the retry is in the trace of what it tries again');
      const [, failed, answered] = callsOf(session) as [Span, Span, Span];
      assert.equal([failed.status, answered.status], ['error', 'ok']);
      assert.equal(
        session.links.map(({ kind, from_span_id, to_span_id }) => [kind, from_span_id, to_span_id]),
        [['retry-of', answered.span_id, failed.span_id]],
      );
    });
  }

  test('branches from the first answer stay in its session, those that are asked for at the same time too', async (stand) => {
    const opening = 'Hello (branches)';
    const { say } = openCaller(proxied(stand), { stream: false });
    const first = await say(opening);
    const on = { previous_response_id: first.id };
    const left = await say('Left', on);
    await say('And further left', { previous_response_id: left.id });
    await recorded(stand.service, opening, 3);
    await Promise.all(['Right', 'Straight on'].map((words) => say(words, on)));
    const session = await recorded(stand.service, opening, 5);
    hangs('branches', session, [turns(1), turns(2), turns(3), turns(2), turns(2)]);
    assert.is(session.session.fork_of_session_id, undefined);
    assert.equal(promptsOf(session).slice(0, 3), [opening, 'Left', 'And further left']);
    assert.equal(promptsOf(session).slice(3).sort(), ['Right', 'Straight on']);
  });

  test('two clients each have a session, be it that they say the same and their answers have the same ids', async (stand) => {
    const questions = ['Hello (two clients)', 'And then?', 'Thank you'];
    const [opening = ''] = questions;
    const callers = ['key-one', 'key-two'].map((key) => openCaller(proxied(stand), { stream: true, key }));
    let on: On = {};
    const ids: string[] = [];
    for (const question of questions) {
      const [one, two] = [await callers[0]?.say(question, on), await callers[1]?.say(question, on)];
      assert.ok(one && one.id === two?.id, 'the ids are the same');
      on = { previous_response_id: one.id };
      ids.push(one.id);
    }
    const sessions = await eventually('two sessions of three calls', async () => {
      const both = (await sessionsOf(stand.service)).filter(({ rollup }) => rollup.preview === opening);
      const documents = await Promise.all(
        both.map(({ id }) => read<Recorded>(`${stand.service.api}/v1/sessions/${id}/traces`)),
      );
      return documents.flatMap(callsOf).length === 6 && documents;
    });
    assert.is(sessions.length, 2);
    for (const [n, session] of sessions.entries()) {
      assert.equal(idsOf(session), ids);
      hangs(`client ${n}`, session, [turns(1), turns(2), turns(3)]);
    }
  });

  for (const stream of [true, false]) {
    test(`an answer that nobody knows is the provider's error, byte for byte, and a session of its own, ${named(stream)}`, async (stand) => {
      const opening = `Do you remember? (${stream})`;
      const callers = [stand.provider.url, proxied(stand)].map((base) => openCaller(base, { stream }));
      const errors = await Promise.all(
        callers.map(({ say }) =>
          say(opening, { previous_response_id: 'resp_unknown' }).catch((error: unknown) => error),
        ),
      );
      const [direct, through] = errors as [InstanceType<typeof OpenAI.BadRequestError>, unknown];
      assert.instance(direct, OpenAI.BadRequestError);
      assert.is(direct.code, 'previous_response_not_found');
      assert.equal(String(through), String(direct));
      assert.equal(callers[1]?.answers, callers[0]?.answers);

      const session = await recorded(stand.service, opening, 1);
      conversations++;
      assert.equal(
        callsOf(session).map(({ status, error_type }) => [status, error_type]),
        [['error', 'invalid_request_error']],
      );
    });

    test(`an answer that the provider alone knows begins a session, and what follows goes on with it, ${named(stream)}`, async (stand) => {
      const rule = `after an unseen answer, ${named(stream)}`;
      const unseen = await openCaller(stand.provider.url, { stream }).say(`Hello (${rule})`);
      const opening = `And then? (${rule})`;
      const { say } = openCaller(proxied(stand), { stream });
      const first = await say(opening, { previous_response_id: unseen.id });
      assert.is(first.output_text, scriptedReply([`Hello (${rule})`, opening]), 'the provider remembers');
      const second = await say('Thank you', { previous_response_id: first.id });
      const session = await recorded(stand.service, opening, 2);
      hangs(rule, session, [turns(1), turns(2)]);
      assert.equal(idsOf(session), [first.id, second.id]);
    });
  }

  test('each conversation is one session with one root, and none is a fork', async ({ service }) => {
    const sessions = await sessionsOf(service);
    assert.is(sessions.length, conversations);
    assert.equal(
      sessions.filter(({ fork_of_session_id }) => fork_of_session_id !== undefined),
      [],
    );
    const stats = await read<Record<string, unknown>>(`${service.api}/v1/stats`);
    assert.equal([stats.session_count, stats.root_count], [conversations, conversations]);
  });

  let before: string[] = [];
  /** The embedded database is open to one process at a time, so its service stops and `goOn` starts it again. */
  const rowsOf = async ({ dsn, folder, service }: Stand) => {
    if (dsn === '') await service.stop();
    return derivedRows({ dsn, folder: join(folder, '.svc') });
  };
  const goOn = async ({ dsn, start }: Stand) => void (dsn === '' && (await start()));

  test('each message hangs on the one before it, back to the root', async (stand) => {
    before = await rowsOf(stand);
    const nodes = nodesIn(before);
    const found = [...shapes].map(([rule, { session }]) => [rule, shapeOf(session, nodes)]);
    const expected = [...shapes].map(([rule, { roles }]) => [rule, { roots: 1, roles }]);
    assert.equal(Object.fromEntries(found), Object.fromEntries(expected));
  });

  test('what was begun goes on after everything was derived again, which changes no row of the others', async (stand) => {
    await goOn(stand);
    const { api } = stand.service;
    const run = await fetch(`${api}/v1/admin/derive/run`, { method: 'POST' });
    assert.is(run.status, 200);
    const report = (await run.json()) as Record<string, unknown>;
    assert.equal([report.sessions, report.pending, report.parse_failures], [conversations, 0, []]);

    assert.is(begun.size, 2);
    const wentOn: Recorded[] = [];
    for (const { opening, on } of begun.values()) {
      const { id } = await openCaller(proxied(stand), { stream: false }).say('Still there?', on);
      const session = await recorded(stand.service, opening, 4);
      assert.is(idsOf(session).at(-1), id);
      wentOn.push(session);
    }
    const after = await rowsOf(stand);
    const nodes = nodesIn(after);
    for (const session of wentOn)
      assert.is(shapeOf(session, nodes).roles.at(-1), turns(4), 'it hangs on what was said');
    const ofOthers = (rows: readonly string[]) =>
      rows.filter((row) => !wentOn.some(({ session }) => row.includes(session.id)));
    assert.ok(ofOthers(before).length > 200, 'there is something to compare');
    assert.equal(ofOthers(after), ofOthers(before));
  });

  test.run();
});

type Node = { session_id: string; node_hash: string; parent_hash: string | null; role: string; is_root: boolean };

const nodesIn = (rows: readonly string[]): Node[] =>
  rows.filter((row) => row.startsWith('nodes ')).map((row) => JSON.parse(row.slice('nodes '.length)) as Node);

/** How many roots a session has, and the roles from the root to each of its answers. */
function shapeOf(session: Recorded, nodes: readonly Node[]): { roots: number; roles: string[] } {
  const own = nodes.filter(({ session_id }) => session_id === session.session.id);
  const answers = callsOf(session).filter(({ status }) => status === 'ok');
  return {
    roots: own.filter(({ is_root }) => is_root).length,
    roles: answers.map(({ node_hash = '' }) => rolesTo(`\\x${node_hash}`, own).join(' ')),
  };
}

function rolesTo(hash: string, nodes: readonly Node[]): string[] {
  const node = nodes.find(({ node_hash }) => node_hash === hash);
  if (!node) return ['nobody'];
  return node.parent_hash === null ? [node.role] : [...rolesTo(node.parent_hash, nodes), node.role];
}
