/** How much is kept is the operator's to say, and the caller's to lessen: in full, without bodies, or only counted. The call is the same. */
import * as assert from 'uvu/assert';
import { echoOf } from '../support/scripted-provider.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { onEachDatabase, type Stand, sessionsOf } from '../support/whole-service.ts';

type Side = { headers: [string, string][]; body: string };
type Turn = {
  svc_proxy_request_id: string;
  outcome: string;
  status: number;
  request_bytes: number;
  response_bytes: number;
  payload: { request: Side; response?: Side };
};
type Coverage = { requests: number; outcomes: Record<string, number> };

const coverage = ({ api }: Service) => read<Coverage>(`${api}/v1/coverage`);

/** Asks, and gives the words of the answer and their size in bytes; what the provider got of our headers is nothing. */
async function ask({ service, provider }: Stand, question: string, capture: string) {
  const body = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: question }] });
  const headers = { 'content-type': 'application/json', 'x-svc-capture': capture };
  const response = await fetch(`${service.proxy}/anthropic/v1/messages`, { method: 'POST', headers, body });
  const text = await response.text();
  assert.is(JSON.parse(text).content[0].text, echoOf(question));
  assert.is(provider.requests.at(-1)?.body, body);
  return { requestBytes: Buffer.byteLength(body), responseBytes: Buffer.byteLength(text) };
}

/** All that can be read of turns and sessions. */
async function everything(service: Service): Promise<{ turns: Turn[]; json: string }> {
  const sessions = await sessionsOf(service);
  const pages = await Promise.all(
    sessions.map(({ id }) => read<{ items: Turn[] }>(`${service.api}/v1/sessions/${id}/raw_turns?include=payload`)),
  );
  const traces = await Promise.all(sessions.map(({ id }) => read(`${service.api}/v1/sessions/${id}/traces`)));
  return { turns: pages.flatMap(({ items }) => items), json: JSON.stringify([sessions, pages, traces]) };
}

const ledger = (service: Service, requests: number) =>
  eventually(`${requests} requests in the ledger`, async () => {
    const now = await coverage(service);
    return now.requests === requests && now.outcomes;
  });

onEachDatabase('how much is kept, at the caller’s wish', (test) => {
  test('in full, without bodies, and not at all', async (stand) => {
    const { service } = stand;
    await ask(stand, 'You may keep WORD-FULL', 'full');
    const sizes = await ask(stand, 'Do not keep WORD-METADATA', 'Metadata');
    await ask(stand, 'Do not keep WORD-OFF', 'off');
    const outcomes = await ledger(service, 3);
    assert.equal([outcomes.captured, outcomes.disabled], [2, 1]);

    const { turns, json } = await everything(service);
    assert.is(turns.length, 2);
    assert.match(json, 'WORD-FULL');
    assert.not.match(json, /WORD-(METADATA|OFF)/);
    const bare = turns.find(({ payload }) => payload.request.body === '');
    assert.equal(
      [bare?.outcome, bare?.status, bare?.request_bytes, bare?.response_bytes],
      ['captured', 200, sizes.requestBytes, sizes.responseBytes],
    );
    assert.not.ok(bare?.payload.response?.body);
  });

  test.run();
});

onEachDatabase(
  'how much is kept, at the operator’s wish',
  (test) => {
    test('no caller gets more kept than that', async (stand) => {
      const { service } = stand;
      await ask(stand, 'Do keep WORD-FULL', 'full');
      await ask(stand, 'Do not keep WORD-OFF', 'off');
      const outcomes = await ledger(service, 2);
      assert.equal([outcomes.captured, outcomes.disabled], [1, 1]);
      const { turns, json } = await everything(service);
      assert.is(turns.length, 1);
      assert.not.match(json, 'WORD-');
    });

    test.run();
  },
  { SVC_CAPTURE_MODE: 'metadata' },
);
