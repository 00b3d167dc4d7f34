/** kill -9 under load: what left in time is stored whole and once; everything else is partial or counted. (DESIGN 'Journal'.) */
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';

const KILLS = 20;
const CLIENTS = 6;

type Asked = { question: string; run: number; answer: Buffer; endedAt: number | null };
type Turn = {
  svc_proxy_request_id: string;
  outcome: string;
  ending: string;
  payload: { request: { encoding: string; body: string }; response: { encoding: string; body: string } | null };
};

const test = suite('kill -9 under load');

test(`at ${KILLS} random moments nothing that left in time is lost, and nothing is doubled`, async () => {
  const folder = await emptyFolder();
  const provider = await startScriptedProvider({ delayMs: 3 });
  const asked: Asked[] = [];
  const killedAt: number[] = [];
  let last: Service | null = null;
  try {
    for (let run = 0; run < KILLS; run++) {
      const service = await startService(folder, { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url });
      let running = true;
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        for (let n = 0; running; n++) {
          const call: Asked = {
            question: `run ${run} client ${client} question ${n}`,
            run,
            answer: Buffer.alloc(0),
            endedAt: null,
          };
          asked.push(call);
          await ask(service, call).catch(() => {});
        }
      });
      await new Promise((done) => setTimeout(done, 150 + Math.random() * 900));
      killedAt[run] = Date.now();
      await service.kill();
      running = false;
      await Promise.all(clients);
    }

    const service = await startService(folder, { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url });
    last = service;
    const turns = await storedTurns(service);
    const byQuestion = new Map<string, Turn[]>();
    for (const turn of turns) {
      const question = questionOf(turn);
      byQuestion.set(question, [...(byQuestion.get(question) ?? []), turn]);
    }
    const seenUpstream = new Map(provider.requests.map(({ body, at }) => [wordsOf(body), at]));
    let whole = 0;
    let partial = 0;
    let unseen = 0;
    for (const call of asked) {
      const stored = byQuestion.get(call.question) ?? [];
      const kill = killedAt[call.run] ?? 0;
      assert.ok(stored.length <= 1, `"${call.question}" is stored ${stored.length} times`);
      const [turn] = stored;
      if (call.endedAt !== null && call.endedAt < kill - 50) {
        assert.ok(turn, `"${call.question}" ended ${kill - call.endedAt} ms before the kill and is not stored`);
        assert.is(turn.outcome, 'captured', `"${call.question}" ended ${kill - call.endedAt} ms before the kill`);
        assert.is(turn.payload.response?.body, call.answer.toString(), 'its answer is whole');
        whole++;
      } else if (turn) {
        assert.ok(['captured', 'partial'].includes(turn.outcome), turn.outcome);
        if (turn.outcome === 'partial') partial++;
        const kept = turn.payload.response?.body ?? '';
        if (turn.outcome === 'partial') assert.is(turn.ending, 'crashed');
        assert.ok(kept.startsWith('event: message_start') || kept === '', 'what is kept of it is a beginning');
      } else {
        // A request that came in just before the kill may have left nothing; one that had gone upstream by then is in the ledger.
        const upstreamAt = seenUpstream.get(call.question);
        if (upstreamAt !== undefined && upstreamAt < kill - 50) unseen++;
      }
    }
    assert.ok(whole > KILLS, `load was real: ${whole} whole turns, ${partial} partial`);
    const coverage = await read<{ outcomes: Record<string, number> }>(`${service.api}/v1/coverage`);
    assert.is(
      coverage.outcomes.captured,
      turns.filter((turn) => turn.outcome === 'captured').length,
      'the ledger survives',
    );
    assert.is(coverage.outcomes.partial, turns.filter((turn) => turn.outcome === 'partial').length);
    assert.ok(unseen <= (coverage.outcomes.crashed ?? 0), `${unseen} calls left no turn and are not counted`);
  } finally {
    if (last) assert.is(await last.stop(), 0);
    await provider.close();
    await removeFolder(folder);
  }
});

/** One streamed call; notes when its last byte arrived. */
const ask = (service: Service, call: Asked): Promise<void> =>
  new Promise((done, fail) => {
    const body = JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 100,
      stream: true,
      messages: [{ role: 'user', content: call.question }],
    });
    const outgoing = request(
      `${service.proxy}/anthropic/v1/messages`,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'x-svc-harness-id': 'kill-test',
          'x-svc-harness-session-id': `run-${call.run}`,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () => {
          call.answer = Buffer.concat(chunks);
          call.endedAt = Date.now();
          done();
        });
      },
    );
    outgoing.on('error', fail);
    outgoing.end(body);
  });

/** Every stored turn with its bytes, once the journals of all runs are taken in. */
async function storedTurns(service: Service): Promise<Turn[]> {
  let before = -1;
  return eventually('the journals of all runs to be taken in', async () => {
    const { items } = await read<{ items: { id: string }[] }>(`${service.api}/v1/sessions?limit=200`);
    const turns: Turn[] = [];
    for (const { id } of items) {
      for (let cursor = ''; ; ) {
        const page = await read<{ items: Turn[]; next_cursor?: string }>(
          `${service.api}/v1/sessions/${id}/raw_turns?include=payload&limit=200${cursor && `&cursor=${cursor}`}`,
        );
        turns.push(...page.items);
        if (!page.next_cursor) break;
        cursor = page.next_cursor;
      }
    }
    const settled = turns.length === before && turns.length > 0;
    before = turns.length;
    if (!settled) await new Promise((done) => setTimeout(done, 1_000));
    return settled && turns;
  });
}

const questionOf = ({ payload }: Turn) => wordsOf(payload.request.body);

const wordsOf = (body: string) => (JSON.parse(body) as { messages: { content: string }[] }).messages[0]?.content ?? '';

test.run();
