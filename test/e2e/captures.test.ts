/** What real clients sent replays, on both databases and in any order of arrival, to sessions that a person would recognise. */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyServerDatabase } from '../support/databases.ts';
import { derivedRows } from '../support/derived-rows.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { contentOf, readSessions, type SessionWithCaptures, spansOf, tracesOf } from '../support/read-sessions.ts';
import {
  type Answered,
  type Capture,
  capturedCalls,
  replayInTurn,
  replayInterleaved,
  sendCapture,
  sentHeaders,
  startCaptureProvider,
} from '../support/replay-captures.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

const CLAUDE_AGENT = 'a9b2a396fff8564e8';
const CODEX_AGENT = '01a1fc52-a1cc-7c03-b98d-f384124bcdc0';

/** The sessions by their first capture. `id` null: the client names none. Tokens: input, output. */
const expected: Record<
  string,
  {
    captures: string[];
    harness: [harness_id: string, id: string | null, version: string | undefined];
    agent_name?: string; // where it is not the harness's
    prompt: string;
    model: string;
    stops: string[];
    tokens: [number, number];
    cost_usd: number | null;
  }
> = {
  'claude-001': {
    captures: ['claude-001'],
    harness: ['claude', '0da8130a-6766-43e5-9b6b-c0dd0a747305', '2.1.197'],
    prompt: 'hello',
    model: 'claude-opus-4-8',
    stops: ['end_turn'],
    tokens: [12, 6],
    cost_usd: 0.000_21, // at 5 and 25 USD per million
  },
  'claude-agent-001': {
    captures: ['claude-agent-001', 'claude-agent-002', 'claude-agent-003', 'claude-agent-004'],
    harness: ['claude', '13607ae7-2247-4428-8c8f-a10fe2fd0148', '2.1.197'],
    prompt: 'PARENT-PROMPT delegate please',
    model: 'claude-opus-4-8',
    stops: ['tool_use', 'tool_use', 'end_turn', 'end_turn'],
    tokens: [48, 52],
    cost_usd: 0.001_54,
  },
  'codex-000': {
    captures: ['codex-000'],
    harness: ['codex', '01a1fc51-60a5-7ce1-8dbc-3bf8c600bdd2', '0.169.0'],
    prompt: 'say hello',
    model: 'fake-model',
    stops: ['stop'],
    tokens: [15, 6],
    cost_usd: null,
  },
  'codex-agent-000': {
    captures: ['codex-agent-000', 'codex-agent-001', 'codex-agent-002', 'codex-agent-003', 'codex-agent-004'],
    harness: ['codex', '01a1fc52-a152-7cf1-9170-9c2fd0515173', '0.169.0'],
    prompt: 'PARENT-PROMPT spawn a sub-agent please',
    model: 'fake-model',
    stops: ['tool_calls', 'tool_calls', 'tool_calls', 'stop', 'stop'],
    tokens: [75, 30],
    cost_usd: null,
  },
  'gemini-000': {
    captures: ['gemini-000'],
    harness: ['unknown', null, undefined],
    agent_name: 'gemini-cli',
    prompt: 'say hello',
    model: 'fake',
    stops: ['STOP'],
    tokens: [9, 6],
    cost_usd: null,
  },
  'opencode-000': {
    captures: ['opencode-000', 'opencode-001'],
    harness: ['opencode', 'ses_e03ac4691ffextoCcf3CwniHJ9', '1.18.33'],
    prompt: '"say hello"', // opencode sends the quotes
    model: 'fake-model',
    stops: ['stop', 'stop'],
    tokens: [18, 12],
    cost_usd: null,
  },
  'pi-000': {
    captures: ['pi-000'],
    harness: ['unknown', null, undefined],
    agent_name: 'pi',
    prompt: 'say hello',
    model: 'fake-model',
    stops: ['stop'],
    tokens: [9, 6],
    cost_usd: null,
  },
  ...Object.fromEntries(
    (
      [
        ['sdks-000', 'end_turn', [12, 6], 'anthropic-js', '1.11.0'],
        ['sdks-001', 'stop', [9, 6], 'openai-js', '6.49.0'], // Chat Completions
        ['sdks-002', 'stop', [15, 6], 'openai-js', '6.49.0'], // Responses
        ['sdks-004', 'stop', [9, 6], 'ollama-js', '0.6.4'],
      ] as const
    ).map(([name, stop, [input, output], agent_name, version]) => [
      name,
      {
        captures: [name],
        harness: ['unknown', null, version] as [string, null, string],
        agent_name,
        prompt: 'hi',
        model: 'm',
        stops: [stop],
        tokens: [input, output] as [number, number],
        cost_usd: null,
      },
    ]),
  ),
};

const TURNS = Object.values(expected).reduce((sum, { captures }) => sum + captures.length, 0);

type Coverage = { requests: number; outcomes: Record<string, number>; by_provider: Record<string, Ledger> };
type Ledger = { requests: number; outcomes: Record<string, number> };

type Context = {
  dsn: string;
  folder: string;
  provider: ScriptedUpstream;
  service: Service;
  answers: Answered[];
  sessions: Map<string, SessionWithCaptures>;
  drop(): Promise<unknown>;
};

type MakeDatabase = () => Promise<{ dsn: string; drop(): Promise<unknown> }>;

let contentsOfTheOther: unknown[] | null = null;

/** The whole test on one kind of database; `dsn` is empty for the embedded one. */
function declare(kind: 'embedded' | 'server', captures: readonly Capture[], makeDatabase: MakeDatabase): void {
  const test = suite<Context>(`the captures of real clients (${kind})`);
  const capture = (context: Context, name: string) => {
    const found = captures.find((one) => one.name === name);
    assert.ok(found, `${name} is there`);
    return { ...found, answer: context.answers[captures.indexOf(found)] };
  };

  test.before(async (context) => {
    Object.assign(context, await makeDatabase());
    context.provider = await startCaptureProvider(captures);
    context.folder = await (context.dsn === '' ? folderWithDatabase() : emptyFolder());
    context.service = await startService(context.folder, settings(context));
    context.answers = await replayInTurn(context.service.proxy, captures);
    context.sessions = await readSessions(context.service.api, captures, TURNS);
  });
  test.after(async ({ provider, service, folder, drop }) => {
    await service?.stop();
    await provider?.close();
    if (folder) await removeFolder(folder);
    await drop?.();
  });

  test('each client gets what its provider answered, to the byte', ({ answers }) => {
    for (const [n, { name, response }] of captures.entries()) {
      assert.equal([answers[n]?.status, answers[n]?.contentType], [response.status, response.contentType], name);
      assert.ok(answers[n]?.body.equals(response.body), name);
    }
  });

  test('each provider gets what its client sent: target, headers in their order and case, body', ({ provider }) => {
    const { host } = new URL(provider.url);
    assert.is(provider.requests.length, captures.length);
    for (const [n, sent] of captures.entries()) {
      const request = provider.requests[n];
      assert.equal([request?.method, request?.url], [sent.method, sent.url], sent.name);
      assert.equal(endToEnd(pairs(request?.rawHeaders ?? [])), endToEnd(sentHeaders(sent, host)), sent.name);
      assert.ok(request?.body.equals(sent.body), sent.name);
    }
  });

  test('each conversation is one session, and its calls are kept to the byte', ({ sessions }) => {
    assert.equal(
      [...sessions].map(([first, { captures: names }]) => [first, names]),
      Object.entries(expected).map(([first, { captures: names }]) => [first, names]),
    );
  });

  for (const [first, { harness, agent_name, prompt, model, stops, tokens, cost_usd }] of Object.entries(expected)) {
    test(`${first} begins a session that tells who spoke, with whom, about what, and what it cost`, ({ sessions }) => {
      const found = sessionOf(sessions, first);
      const { session } = found;
      const [harness_id, id, version] = harness;
      assert.equal([session.harness_id, session.harness_version], [harness_id, version]);
      if (id !== null) assert.is(session.harness_session_id, id);
      assert.is(session.agent_name, agent_name ?? harness_id);
      assert.is(session.rollup.status, 'completed');
      assert.is(session.rollup.preview, prompt);
      assert.is(session.rollup.tool_error_count, 0);
      assert.is(session.fork_of_session_id, undefined);

      const spoken = tracesOf(found, '').at(-1);
      assert.equal(
        [spoken?.user_prompt, spoken?.status, spoken?.source, spoken?.synthetic],
        [prompt, 'ok', 'wire', undefined],
      );
      assert.is(spoken?.response_preview, first === 'sdks-004' ? 'Hello there.' : 'Hello from the fake server.');

      const calls = spansOf(found, 'llm').sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
      assert.equal(
        calls.map((span) => [span.model, span.status, span.stop_reason]),
        stops.map((stop) => [model, 'ok', stop]),
      );
      const { usage, model_usage } = session.rollup;
      assert.equal([usage.input_tokens, usage.output_tokens], tokens);
      assert.is(usage.cost_usd, cost_usd);
      assert.equal(usage.unpriced_models, cost_usd === null ? [model] : [], 'an unknown price is named, and never 0');
      assert.equal(
        model_usage?.map((row) => [row.model, row.calls, row.cost_usd, row.price === null]),
        [[model, stops.length, cost_usd, cost_usd === null]],
      );
    });
  }

  test('a sub-agent is a thread of the session that sent it out, and breaks neither conversation', ({ sessions }) => {
    for (const [first, thread_id, calls] of [
      ['claude-agent-001', CLAUDE_AGENT, ['', CLAUDE_AGENT, CLAUDE_AGENT, '']],
      ['codex-agent-000', CODEX_AGENT, ['', '', CODEX_AGENT, CODEX_AGENT, '']],
    ] as const) {
      const found = sessionOf(sessions, first);
      const inOrder = spansOf(found, 'llm').sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
      assert.equal(
        inOrder.map((span) => span.thread_id),
        calls,
        first,
      );
      assert.is(tracesOf(found, '').length, 1, `${first}: the conversation is one trace`);
      assert.is(tracesOf(found, thread_id).length, 1, `${first}: so is the work of the sub-agent`);
    }
  });

  test('each tool stands in the thread that asked for it, with its result', ({ sessions }) => {
    const toolsIn = (first: string) =>
      spansOf(sessionOf(sessions, first), 'tool')
        .sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
        .map(({ name, thread_id, external_id, status, output }) => {
          assert.is(output.length, 1, `${name} has one result`);
          return [name, thread_id, external_id, status, (output[0]?.tool_output ?? '').trim().split('\n').at(-1)];
        });
    assert.equal(toolsIn('claude-agent-001'), [
      ['Agent', '', 'toolu_fakeagent1', 'ok', 'duration_ms: 83</usage>'],
      ['Bash', CLAUDE_AGENT, 'toolu_fake1', 'ok', 'hi-from-tool'],
    ]);
    assert.equal(toolsIn('codex-agent-000'), [
      ['spawn_agent', '', 'call_spawn1', 'ok', `{"agent_id":"${CODEX_AGENT}","nickname":"Leibniz"}`],
      [
        'wait_agent',
        '',
        'call_wait1',
        'ok',
        `{"status":{"${CODEX_AGENT}":{"completed":"Hello from the fake server."}},"timed_out":false}`,
      ],
      ['Bash', CODEX_AGENT, 'call_fake1', 'ok', 'hi-from-tool'],
    ]);
    for (const [first, found] of sessions) {
      const tools = spansOf(found, 'tool');
      const kinds = found.links.map((link) => link.kind);
      assert.is(found.session.rollup.tool_result_count, tools.length, first);
      assert.is(kinds.filter((one) => one === 'emits').length, tools.length, `${first}: asked for by a call`);
      assert.is(kinds.filter((one) => one === 'feeds').length, tools.length, `${first}: its result feeds a call`);
    }
  });

  test('titles and previews are the words of a person, and nothing that a harness wrapped around them', ({
    sessions,
  }) => {
    for (const [first, { session, traces }] of sessions) {
      const shown = [session.display_title, session.rollup.preview, ...traces.map(({ trace }) => trace.user_prompt)];
      for (const text of shown) {
        assert.ok(text, `${first}: there is one`);
        assert.not.match(text, /[<>]|system-reminder|environment|You are /, first);
      }
    }
  });

  test('each request has one outcome: what is no turn and what is in no known format is booked as that', async ({
    service,
  }) => {
    const coverage = await eventually('the ledger', async () => {
      const ledger = await read<Coverage>(`${service.api}/v1/coverage`);
      return ledger.requests === captures.length ? ledger : null;
    });
    const counted = ({ outcomes }: Ledger) => Object.entries(outcomes).filter(([, count]) => count > 0);
    // two HEAD, OpenAI's embeddings, Ollama's
    assert.equal(counted(coverage), [
      ['captured', TURNS],
      ['not_a_turn', 4],
    ]);
    assert.equal(Object.fromEntries(Object.entries(coverage.by_provider).map(([id, one]) => [id, counted(one)])), {
      anthropic: [
        ['captured', 6],
        ['not_a_turn', 2],
      ],
      gemini: [['captured', 1]],
      ollama: [
        ['captured', 1],
        ['not_a_turn', 1],
      ],
      openai: [
        ['captured', 11],
        ['not_a_turn', 1],
      ],
    });
    const sums = Object.values(coverage.by_provider).map(({ requests }) => requests);
    assert.is(
      sums.reduce((sum, requests) => sum + requests),
      captures.length,
    );
  });

  test('a method that is in no known format passes as untouched, and is counted as that', async (context) => {
    const { path, ...gemini } = capture(context, 'gemini-000');
    const answer = await sendCapture(context.service.proxy, { ...gemini, path: path.replace('/models/', '/agents/') });
    assert.is(answer.status, 500, 'nobody has recorded an answer');
    assert.ok(context.provider.requests.at(-1)?.body.equals(gemini.body));
    const ledger = await eventually('its outcome', async () => {
      const { by_provider } = await read<Coverage>(`${context.service.api}/v1/coverage`);
      return by_provider.gemini?.outcomes.unsupported_format === 1 && by_provider.gemini;
    });
    assert.is(ledger.requests, 2);
  });

  test('deriving everything again changes no row', async (context) => {
    const { dsn, sessions } = context;
    const folder = join(context.folder, '.svc');
    await context.service.stop();
    const before = await derivedRows({ dsn, folder });
    assert.ok(before.length > 100, 'there is something to compare');

    context.service = await startService(context.folder, settings(context));
    const { api } = context.service;
    const run = await fetch(`${api}/v1/admin/derive/run`, { method: 'POST' });
    assert.is(run.status, 200);
    const report = (await run.json()) as Record<string, unknown>;
    assert.equal(
      [report.sessions, report.pending, report.parked, report.raw_turns, report.parsed_turns, report.parse_failures],
      [sessions.size, 0, 0, TURNS, TURNS, []],
    );
    const { requests } = await read<Coverage>(`${api}/v1/coverage`);
    assert.is(requests, captures.length + 1, 'and nothing is counted again');
    await context.service.stop();
    assert.equal(await derivedRows({ dsn, folder }), before);
  });

  test('another order of arrival gives the same sessions', async ({ sessions, provider }) => {
    const other = await makeDatabase();
    const folder = await (other.dsn === '' ? folderWithDatabase() : emptyFolder());
    const service = await startService(folder, settings({ dsn: other.dsn, provider }));
    try {
      await replayInterleaved(service.proxy, captures);
      const again = await readSessions(service.api, captures, TURNS);
      assert.equal([...again.values()].map(contentOf), [...sessions.values()].map(contentOf));
    } finally {
      await service.stop();
      await removeFolder(folder);
      await other.drop();
    }
  });

  test('both databases tell the same', ({ sessions }) => {
    const contents = [...sessions.values()].map(contentOf);
    assert.equal(contents, contentsOfTheOther ?? contents);
    contentsOfTheOther = contents;
  });

  test.run();
}

const settings = ({ dsn, provider }: { dsn: string; provider: ScriptedUpstream }): Record<string, string> => ({
  SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url,
  SVC_PROXY_UPSTREAMS_GEMINI: provider.url,
  SVC_PROXY_UPSTREAMS_OPENAI: provider.url,
  SVC_PROXY_UPSTREAMS_OLLAMA: provider.url,
  ...(dsn === '' ? {} : { SVC_STORAGE_POSTGRES_DSN: dsn }),
});

function sessionOf(sessions: Map<string, SessionWithCaptures>, first: string): SessionWithCaptures {
  const found = sessions.get(first);
  assert.ok(found, `${first} began a session`);
  return found;
}

const pairs = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, n): [string, string][] => (n % 2 ? [] : [[name, raw[n + 1] ?? '']]));

const endToEnd = (headers: readonly [string, string][]) => headers.filter(([name]) => !/^connection$/i.test(name));

const captures = capturedCalls();
if (captures) {
  declare('embedded', captures, async () => ({ dsn: '', drop: async () => {} }));
  const cluster = process.env.SVC_TEST_DSN;
  if (cluster) declare('server', captures, () => emptyServerDatabase(cluster));
  else console.log('skip: the captures of real clients (server): SVC_TEST_DSN is not set');
}
