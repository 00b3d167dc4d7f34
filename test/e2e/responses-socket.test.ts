/** Is a conversation over a WebSocket recorded like one over HTTP? Real service, real socket, as Codex speaks and as nobody in particular. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { echoDocument, type Message, socketClient, socketProvider, type Talk } from '../support/responses-socket.ts';
import { responseEvents } from '../support/responses-streams.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { startUpstream } from '../support/upstream.ts';
import { callsOf, onEachDatabase, type Recorded, recorded } from '../support/whole-service.ts';

/** Ids are of this run, not of a socket, as a provider's are; `generate: false` is answered with nothing, 'Wait' with a beginning. */
let answers = 0;
const talk: Talk = (socket, request) => {
  if (request.type !== 'response.create') return; // else `ask` would take the answer to a message that wants none for its own
  const document = echoDocument(request, ++answers);
  const events = responseEvents(request.generate === false ? { ...document, output: [] } : document);
  for (const event of request.input === 'Wait' ? events.slice(0, 5) : events) socket.send(JSON.stringify(event));
};

let databases = 0; // that are still to be tried
const upstream = await startUpstream([{ status: 404 }]);
upstream.onUpgrade(socketProvider(talk, { perMessageDeflate: { threshold: 0 } }).answer);

const connect = (service: Service, headers: Record<string, string> = {}) =>
  socketClient(`${service.proxy}/openai/v1/responses`, { perMessageDeflate: true, headers });

type Client = Awaited<ReturnType<typeof connect>>;
const ends = ({ heard }: Client) =>
  heard.flatMap((text): Message[] => {
    const event = JSON.parse(text);
    return event.type === 'response.completed' ? [event.response] : [];
  });

/** Resolves with the id of the response. */
async function ask(client: Client, request: object): Promise<string> {
  const before = ends(client).length;
  client.send({ type: 'response.create', model: 'gpt-5', ...request });
  return eventually('the end of a response', async () => String(ends(client)[before]?.id ?? '') || null);
}

type Coverage = { requests: number; outcomes: Record<string, number> };
const coverage = ({ api }: Service) => read<Coverage>(`${api}/v1/coverage`);

/** What was booked since. */
const grown = (now: Coverage, before: Coverage) => ({
  requests: now.requests - before.requests,
  outcomes: Object.fromEntries(
    Object.entries(now.outcomes).flatMap(([name, count]) => {
      const more = count - (before.outcomes[name] ?? 0);
      return more === 0 ? [] : [[name, more]];
    }),
  ),
});
const booked = (service: Service, before: Coverage, requests: number) =>
  eventually(`${requests} entries in the ledger`, async () => {
    const more = grown(await coverage(service), before);
    return more.requests >= requests && more;
  });

/** What the journal holds now; segments go once they are stored. */
async function journalIn(folder: string): Promise<string> {
  const entries = await readdir(join(folder, '.svc', 'journal'), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))).join('');
}

onEachDatabase(
  'conversations over a WebSocket',
  (test) => {
    test('each response is a call of one session, and the ledger knows the socket and its turns', async ({
      service,
    }) => {
      const before = await coverage(service);
      const client = await connect(service);
      const first = await ask(client, { input: 'Hello, socket' });
      const second = await ask(client, { input: 'And then?', previous_response_id: first });
      const third = await ask(client, { input: 'Thank you', previous_response_id: second });
      client.socket.close(1000);
      await client.closed;
      const session = await recorded(service, 'Hello, socket', 3);
      const calls = callsOf(session);
      assert.equal(
        calls.map(({ external_id }) => external_id),
        [first, second, third],
      );
      assert.equal(
        calls.map(({ output }) => output[0]?.text),
        ['You said: Hello, socket', 'You said: And then?', 'You said: Thank you'],
      );
      assert.equal(
        session.traces.map(({ trace }) => trace.user_prompt),
        ['Hello, socket', 'And then?', 'Thank you'],
      );
      assert.ok(calls.every(({ status, stop_reason }) => status === 'ok' && stop_reason === 'stop'));
      assert.equal(await booked(service, before, 4), { requests: 4, outcomes: { captured: 3, not_a_turn: 1 } });
    });

    test('Codex names its session once for all turns, and warms the first one up', async ({ service }) => {
      const before = await coverage(service);
      const id = '01a1fc51-60a5-7ce1-8dbc-3bf8c600bdd2';
      const client = await connect(service, {
        'User-Agent': 'codex_cli_rs/0.169.0 (Linux)',
        'session-id': id,
        'thread-id': id,
        'OpenAI-Beta': 'responses_websockets=2026-02-06',
      });
      const inputOf = (words: string) => [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: words }] },
      ];
      const warm = await ask(client, { input: inputOf('Say hello'), generate: false });
      const first = await ask(client, { input: [], previous_response_id: warm });
      client.send({ type: 'response.processed', response_id: first });
      await ask(client, { input: inputOf('Again'), previous_response_id: first });
      client.socket.terminate();
      const session: Recorded = await recorded(service, 'Say hello', 3);
      assert.equal([session.session.harness_id, session.session.harness_session_id], ['codex', id]);
      assert.equal(
        session.traces.map(({ trace }) => trace.user_prompt),
        ['Say hello', 'Again'],
      );
      // The socket is booked once it is closed, which may be after its turns are derived: the next test counts from here.
      assert.equal(await booked(service, before, 4), { requests: 4, outcomes: { captured: 3, not_a_turn: 1 } });
    });

    test('a kill in the middle of a response leaves a partial turn, and the ledger whole', async (stand) => {
      const before = await coverage(stand.service);
      const client = await connect(stand.service);
      client.send({ type: 'response.create', model: 'gpt-5', input: 'Wait' });
      await eventually('the beginning of an answer', async () => client.heard.length === 5);
      const last = client.heard.at(-1) ?? '';
      await eventually('it to be in the journal', async () => (await journalIn(stand.folder)).includes(last));
      await stand.service.kill();
      await client.closed;
      const service = await stand.start();
      const [call] = callsOf(await recorded(service, 'Wait', 1));
      assert.is(call?.status, 'partial');
      assert.equal(await booked(service, before, 2), { requests: 2, outcomes: { partial: 1, not_a_turn: 1 } });
    });

    databases++;
    test.after(async () => {
      if (--databases === 0) await upstream.close();
    });
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_OPENAI: upstream.url },
);
