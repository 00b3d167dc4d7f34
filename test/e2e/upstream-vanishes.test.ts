/** An upstream that is gone when a call gets there: the client's own retry makes it good, and the record shows one question with two calls. */
import * as assert from 'uvu/assert';
import { type OfficialClient, officialClients } from '../support/official-clients.ts';
import { anthropic } from '../support/scripted-provider/anthropic.ts';
import { openaiChat } from '../support/scripted-provider/openai-chat.ts';
import { openaiResponses } from '../support/scripted-provider/openai-responses.ts';
import { idOf } from '../support/scripted-provider/script.ts';
import { echoOf } from '../support/scripted-provider.ts';
import { eventually, read } from '../support/serve.ts';
import { startUpstream } from '../support/upstream.ts';
import { callsOf, onEachDatabase, recorded, type Span } from '../support/whole-service.ts';

const formats = [anthropic, openaiChat, openaiResponses()[0]];
const vanished = new Set<string>();

/** Answers all, but is gone the first time that it is asked whether it is there. */
const upstream = await startUpstream((request) => async (_request, answering, incoming) => {
  await request.whole;
  const received = request.body.toString();
  if (received.includes('Are you there') && !vanished.delete(received)) {
    vanished.add(received);
    incoming.socket.resetAndDestroy();
    return;
  }
  const format = formats.find(({ path }) => path.test(request.url));
  const body: unknown = JSON.parse(received);
  const { question = '' } = format?.parseRequest(body) ?? {};
  const { document } = format?.answer(body, { says: echoOf(question), callsTool: false }, idOf(received)) ?? {};
  answering.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
});
let databases = 0; // that are still to be tried

const clients: { client: OfficialClient; input: number }[] = [
  { client: officialClients.anthropic, input: 1500 },
  { client: officialClients.openaiChat, input: 1000 },
  { client: officialClients.openaiResponses, input: 1000 },
];

const outcomeOf = ({ status, error_type = '', usage }: Span) => [status, error_type, usage.input_tokens];

onEachDatabase(
  'upstreams that vanish',
  (test) => {
    for (const { client, input } of clients) {
      test(`${client.name}: the retry is linked to the call that failed, and counted once`, async ({ service }) => {
        const hello = `Hello (${client.name})`;
        const question = `Are you there? (${client.name})`;
        const { ask, answers } = client.open(`${service.proxy}${client.prefix}`, { key: 'k', stream: false });
        assert.is(await ask(hello), echoOf(hello));
        assert.is(await ask(question), echoOf(question), 'whoever asks does not notice');
        assert.equal(
          answers.map(({ status }) => status),
          [200, 502, 200],
        );

        const session = await recorded(service, hello, 3);
        const [, failed, answered] = callsOf(session) as [Span, Span, Span];
        assert.equal([failed, answered].map(outcomeOf), [
          ['error', 'upstream_error', 0],
          ['ok', '', input],
        ]);
        assert.equal(
          session.links
            .filter(({ kind }) => kind === 'retry-of')
            .map(({ from_span_id, to_span_id }) => [from_span_id, to_span_id]),
          [[answered.span_id, failed.span_id]],
        );
        assert.equal(
          session.traces.map(({ trace }) => [trace.user_prompt, trace.status]),
          [
            [hello, 'ok'],
            [question, 'ok'],
          ],
        );
      });
    }

    test('each request is in the ledger: two captured and one partial of each client', async ({ service }) => {
      const { outcomes } = await eventually('the ledger', async () => {
        const ledger = await read<{ requests: number; outcomes: Record<string, number> }>(`${service.api}/v1/coverage`);
        return ledger.requests === 3 * clients.length && ledger;
      });
      assert.equal([outcomes.captured, outcomes.partial], [2 * clients.length, clients.length]);
    });

    databases++;
    test.after(async () => {
      if (--databases === 0) await upstream.close();
    });
    test.run();
  },
  { SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url, SVC_PROXY_UPSTREAMS_OPENAI: upstream.url },
);
