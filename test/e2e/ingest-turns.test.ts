/** What becomes of a turn that a gateway sends? The same as if it had passed the proxy; and buckets, as the seed has them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { buckets, hashOf, result, text, use } from '../support/bucket-turns.ts';
import { derivedRows } from '../support/derived-rows.ts';
import { fixtureFolder } from '../support/fixtures.ts';
import { bodyOf } from '../support/ingested-turns.ts';
import { type OfficialClient, officialClients } from '../support/official-clients.ts';
import { acceptedTurn, derivedSession } from '../support/post-turns.ts';
import type { Json } from '../support/read-api.ts';
import { contentOf, type SessionWithCaptures, spansOf } from '../support/read-sessions.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { onEachDatabase, type Session, type Stand } from '../support/whole-service.ts';

/** A call as it passed between a client and its provider. */
type Passed = { url: string; request: string; contentType: string; answer: Buffer };

const { anthropic, gemini, openaiChat, openaiResponses, ollamaChat, ollamaGenerate } = officialClients;
const clients: [client: OfficialClient, provider: string][] = [
  [anthropic, 'anthropic'],
  [gemini, 'gemini'],
  [openaiChat, 'openai'],
  [openaiResponses, 'openai'],
  [ollamaChat, 'ollama'],
  [ollamaGenerate, 'ollama'],
];

/** What a client and its provider say to each other. */
async function conversed(stand: Stand, client: OfficialClient, stream: boolean, question: string): Promise<Passed[]> {
  const before = stand.provider.requests.length;
  const conversation = client.open(stand.provider.url, { key: 'key', stream });
  await conversation.ask(question);
  const requests = stand.provider.requests.slice(before);
  return conversation.answers.map(({ headers, bytes }, n) => ({
    url: requests[n]?.url ?? '',
    request: requests[n]?.body ?? '',
    contentType: headers['content-type'] ?? '',
    answer: Buffer.from(bytes, 'latin1'),
  }));
}

/** Posts a conversation's calls in turn, each with its answer; `subject` is who sends. */
async function posted(
  service: Service,
  { provider, subject }: { provider: string; subject: string },
  calls: readonly Passed[],
  answerOf: (call: Passed, n: number) => object,
): Promise<SessionWithCaptures> {
  const sessions = new Set<string>();
  for (const [n, call] of calls.entries()) {
    const { url: path, contentType: content_type } = call;
    const meta = { request_id: `${subject} ${n}`, path, content_type, upstream_status: 200 };
    const turn = { provider, ...answerOf(call, n), meta, session: { auth_subject: subject } };
    sessions.add((await acceptedTurn(service, bodyOf(turn, call.request))).session_id);
  }
  const [session_id = ''] = sessions;
  assert.is(sessions.size, 1, 'the calls of a conversation are one session');
  return derivedSession(service, session_id, calls.length);
}

const raw = ({ answer }: Passed) => ({ raw_response: answer.toString('base64') });
const gzipped = ({ answer }: Passed) => ({
  raw_response: gzipSync(answer).toString('base64'),
  raw_response_encoding: 'gzip',
});

/** The answers of a told session as a sender says them that has read them itself. */
const reducedOf = (session: SessionWithCaptures) => (_: Passed, n: number) => {
  const { model, output, stop_reason, external_id, usage } = spansOf(session, 'llm')[n] ?? missing(`call ${n}`);
  return {
    response: {
      model,
      message: { role: 'assistant', content: output },
      stop_reason,
      usage: {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        cache_read_input_tokens: usage.cache_read_tokens,
        cache_creation_input_tokens: usage.cache_write_5m_tokens,
      },
      extra: { id: external_id },
    },
  };
};

const missing = (what: string): never => {
  throw new Error(`Cannot go on: there is no ${what}`);
};

/** All that is told but for who sent it. */
const content = (session: SessionWithCaptures) => {
  const document = contentOf(session) as Json;
  delete document.session.auth_subject;
  return document;
};
/** The scripted provider makes ids out of the request's bytes, which say whether to stream; hashes follow. */
const withoutIds = (document: Json): Json =>
  JSON.parse(JSON.stringify(document).replace(/[0-9a-f]{64}|[0-9a-f]{24}/g, '#'));
/** The reduced shape has neither the provider's own figures nor the reasoning among them. */
const asReduced = (document: Json): Json =>
  JSON.parse(
    JSON.stringify(document, (key, value) => {
      if (/^(?:usage_verbatim|reasoning_tokens)$/.test(key)) return null;
      return key === 'cost'
        ? { ...value, output: (value.output + value.reasoning).toFixed(12), reasoning: null }
        : value;
    }),
  );

type Node = {
  session_id: string;
  node_hash: string;
  parent_hash: string | null;
  depth: number;
  type: string;
  role: string;
  model: string;
  provider: string;
  agent_name: string;
  is_root: boolean;
};

type Row = {
  source: string;
  provider: string;
  request_id: string;
  raw_request: unknown;
  response: unknown;
  meta: { thread_id?: string };
  session_envelope: { harness_session_id: string };
};
const corpus = fixtureFolder('corpus');
const rows: Row[] = corpus
  ? gunzipSync(readFileSync(join(corpus, 'corpus-codex-delta.jsonl.gz')))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row)
      .filter(({ source }) => source === 'wire')
  : [];

onEachDatabase('turns that a gateway sends', (test) => {
  const sessions: Record<string, SessionWithCaptures> = {};
  let stats: Json;
  let stored: Promise<Record<string, Node[]>> | null = null;

  test.before(async ({ service }) => {
    for (const [name, { calls }] of Object.entries(buckets)) {
      let session_id = '';
      for (const call of calls) ({ session_id } = await acceptedTurn(service, JSON.stringify(call)));
      sessions[name] = await derivedSession(service, session_id, calls.length);
    }
    stats = await read<Json>(`${service.api}/v1/stats`);
  });

  for (const [client, provider] of clients)
    test(`${client.name}: raw, streamed, compressed or reduced, and through the proxy, it is the same conversation`, async (stand) => {
      const { service } = stand;
      const question = `What is the weather in Oslo? (${client.name})`;
      const documents = await conversed(stand, client, false, question);
      const streams = await conversed(stand, client, true, question);
      const by = (how: string) => ({ provider, subject: `${client.name} ${how}` });
      const [document, coded, stream, codedStream] = await Promise.all([
        posted(service, by('document'), documents, raw),
        posted(service, by('gzip'), documents, gzipped),
        posted(service, by('stream'), streams, raw),
        posted(service, by('stream gzip'), streams, gzipped),
      ]);
      const calls = spansOf(stream, 'llm');
      assert.is(calls.length, client === ollamaGenerate ? 1 : 2);
      for (const call of calls) assert.equal([call.status, call.provider], ['ok', provider]);
      assert.ok(stream.session.rollup.usage.output_tokens > 0);
      assert.equal(content(coded), content(document));
      assert.equal(content(codedStream), content(stream));
      assert.equal(withoutIds(content(stream)), withoutIds(content(document)));

      const reduced = await posted(service, by('reduced'), streams, reducedOf(stream));
      assert.equal(asReduced(content(reduced)), asReduced(content(stream)));

      await client.open(`${service.proxy}${client.prefix}`, { key: 'key', stream: true }).ask(question);
      const passed = await passedBy(service, question, streams.length);
      const { agent_name, harness_version, ...session } = passed.session as SessionWithCaptures['session'] & Json;
      assert.ok(agent_name && harness_version, 'who calls is told by headers, which this gateway does not send');
      assert.equal(content({ ...passed, session }), content(stream));
    });

  if (rows.length > 0)
    test('a recorded session of Codex: in any order of arrival the same', async ({ service }) => {
      const send = async (name: string, order: readonly Row[]) => {
        let session_id = '';
        for (const { provider, raw_request: request, request_id, response, meta, session_envelope } of order) {
          const ids = { meta: { ...meta, request_id: `${name} ${request_id}` } };
          const session = { ...session_envelope, harness_session_id: name, auth_subject: name }; // else it is a fork of the other
          const turn = JSON.stringify({ provider, request, response, ...ids, session });
          ({ session_id } = await acceptedTurn(service, turn));
        }
        const found = await derivedSession(service, session_id, rows.length);
        return { ...found, session: { ...found.session, harness_session_id: '', display_title: '', auth_subject: '' } };
      };
      const inOrder = await send('in order', rows);
      assert.is(spansOf(inOrder, 'llm').length, 13);
      assert.is(spansOf(inOrder, 'tool').length, 10);
      const kinds = inOrder.links.map(({ kind }) => kind);
      assert.equal(
        [kinds.filter((kind) => kind === 'emits').length, kinds.filter((kind) => kind === 'feeds').length],
        [10, 10],
      );
      const threads = new Set(spansOf(inOrder, 'llm').map(({ thread_id }) => thread_id));
      assert.equal(threads, new Set(rows.map(({ meta }) => meta.thread_id ?? '')));
      const shuffled = [...rows.filter((_, n) => n % 3 === 2), ...rows.filter((_, n) => n % 3 !== 2).reverse()];
      assert.equal(contentOf(await send('shuffled', shuffled)), contentOf(inOrder));
    });

  /** The nodes of each conversation from its root on. The service has to go for that, so those who ask are the last tests. */
  const nodesOf = (stand: Stand) => {
    stored ??= stand.service.stop().then(async () => {
      const lines = await derivedRows({ dsn: stand.dsn, folder: join(stand.folder, '.svc') });
      const all = lines.filter((line) => line.startsWith('nodes ')).map((line) => JSON.parse(line.slice(6)) as Node);
      const own = ({ session }: SessionWithCaptures) => all.filter(({ session_id }) => session_id === session.id);
      const inOrder = (some: Node[]) => some.sort((a, b) => a.depth - b.depth);
      return Object.fromEntries(Object.entries(sessions).map(([name, session]) => [name, inOrder(own(session))]));
    });
    return stored;
  };
  const sessionOf = (name: string) => sessions[name] ?? missing(name);
  const callsOf = (name: string) => spansOf(sessionOf(name), 'llm');
  /** What the nodes of each conversation have as an attribute, and what the API tells of it. */
  const attributes = async (stand: Stand, key: 'model' | 'provider' | 'agent_name', shown: (name: string) => unknown) =>
    Object.entries(await nodesOf(stand)).map(([name, some]) => [
      name,
      ...new Set(some.map((node) => node[key])),
      shown(name),
    ]);

  test('Bucket type: content kind, a message', async (stand) => {
    const nodes = await nodesOf(stand);
    for (const [name, { nodes: messages }] of Object.entries(buckets))
      assert.equal(
        nodes[name]?.map(({ type }) => type),
        messages.map(() => 'message'),
        name,
      );
  });

  test('Bucket role: one of system, user, assistant, tool', async (stand) => {
    const nodes = await nodesOf(stand);
    for (const [name, { nodes: messages }] of Object.entries(buckets))
      assert.equal(
        nodes[name]?.map(({ role }) => role),
        messages.map(([role]) => role),
        name,
      );
  });

  test('Bucket content: message content blocks', () => {
    for (const [name, { nodes: messages }] of Object.entries(buckets))
      assert.equal(callsOf(name).at(-1)?.output, messages.at(-1)?.slice(1), name);
    const [call] = callsOf('chat');
    assert.equal([call?.input, call?.output], [[text('Be brief'), text('What is the weather?')], [use]]);
    const [tool] = spansOf(sessionOf('chat'), 'tool');
    assert.equal([tool?.input, tool?.output], [[use], [result]]);
  });

  test('Bucket model: model identifier, as the answer names it', async (stand) => {
    assert.equal(await attributes(stand, 'model', (name) => callsOf(name)[0]?.model), [
      ['chat', 'gpt-4o-mini-2024-07-18', 'gpt-4o-mini-2024-07-18'],
      ['messages', 'claude-sonnet-4-5', 'claude-sonnet-4-5'],
      ['responses', 'gpt-5', 'gpt-5'],
      ['generate', 'llama3.2', 'llama3.2'],
    ]);
  });

  test('Bucket provider: provider that handled the request', async (stand) => {
    assert.equal(await attributes(stand, 'provider', (name) => callsOf(name)[0]?.provider), [
      ['chat', 'openai', 'openai'],
      ['messages', 'anthropic', 'anthropic'],
      ['responses', 'openai', 'openai'],
      ['generate', 'ollama', 'ollama'],
    ]);
  });

  test('Bucket agent_name: agent harness that produced the turn', async (stand) => {
    assert.equal(await attributes(stand, 'agent_name', (name) => sessionOf(name).session.agent_name), [
      ['chat', 'weather-bot', 'weather-bot'],
      ['messages', 'my-agent', 'my-agent'],
      ['responses', '', undefined],
      ['generate', '', undefined],
    ]);
  });

  test('buckets are hashed and stored as nodes in a Merkle DAG: each node is one turn', async (stand) => {
    const nodes = await nodesOf(stand);
    for (const [name, { nodes: messages }] of Object.entries(buckets)) {
      let parent = '';
      for (const [n, [role, ...blocks]] of messages.entries()) {
        const node = nodes[name]?.[n];
        assert.is(node?.parent_hash ?? '', parent && `\\x${parent}`, `${name} ${n}`);
        parent = hashOf(parent, role, blocks);
        assert.is(node?.node_hash, `\\x${parent}`, `${name} ${n}`);
      }
      assert.is(callsOf(name).at(-1)?.node_hash, parent, 'a call tells the node of its answer');
    }
  });

  test('roots of the DAG identify conversations', async (stand) => {
    for (const [name, some] of Object.entries(await nodesOf(stand)))
      assert.equal(
        some.filter(({ is_root }) => is_root).map(({ parent_hash }) => parent_hash),
        [null],
        name,
      );
    const conversations = Object.keys(buckets).length;
    assert.equal([stats.root_count, stats.session_count], [conversations, conversations]);
  });

  test.run();
});

/** The session of a conversation that passed the proxy. */
async function passedBy(service: Service, question: string, calls: number): Promise<SessionWithCaptures> {
  const id = await eventually('the session', async () => {
    const { items } = await read<{ items: (Session & { auth_subject?: string })[] }>(
      `${service.api}/v1/sessions?limit=200`,
    );
    return items.find(({ auth_subject, rollup }) => auth_subject === undefined && rollup.preview === question)?.id;
  });
  return derivedSession(service, id, calls);
}
