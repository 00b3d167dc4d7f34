/** What the proxy of a running service counts: each label from the start, and each request once. */
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Outcome } from '../../core/model/coverage.ts';
import type { Status } from '../../core/model/status.ts';
import { ProviderId } from '../../core/provider/provider-ids.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { emptyFolder, eventually, read, removeFolder, startService } from '../support/serve.ts';
import { startUpstream } from '../support/upstream.ts';

const NOT_CAPTURED = Outcome.options.filter((outcome) => outcome !== 'captured' && outcome !== 'partial');

type Counted = { requests: Map<string, number>; reasons: Map<string, number>; text: string };

async function counted(api: string): Promise<Counted> {
  const text = await (await fetch(`${api}/metrics`)).text();
  const series = (name: string) =>
    new Map(
      [...text.matchAll(new RegExp(`^${name}\\{([^}]*)\\} (\\S+)$`, 'gm'))].map(([, labels = '', value]) => [
        labels,
        Number(value),
      ]),
    );
  const reasons = [...series('svc_capture_not_captured_total')].map(
    ([labels, value]) => [/^reason="(\w+)"$/.exec(labels)?.[1] ?? labels, value] as const,
  );
  return { requests: series('svc_proxy_requests_total'), reasons: new Map(reasons), text };
}

const total = (series: ReadonlyMap<string, number>) => [...series.values()].reduce((sum, value) => sum + value, 0);
const of = ({ requests }: Counted, provider: string, outcome: string) =>
  requests.get(`provider="${provider}",outcome="${outcome}"`);

const chat = (content: string, stream = false) =>
  JSON.stringify({ model: 'm', max_tokens: 9, stream, messages: [{ role: 'user', content }] });

/** Frames that are none, and one that is longer than any. */
const UNREADABLE_SOCKETS = [Buffer.from('ffffffff', 'hex'), Buffer.from('817f0000ffffffffffff', 'hex')];

/** Agrees to every upgrade, and then sends what no reader of a WebSocket gets beyond. */
async function startUnreadableUpstream() {
  const upstream = await startUpstream([{}]);
  let sockets = 0;
  upstream.onUpgrade((_incoming, socket) => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    socket.write(UNREADABLE_SOCKETS[sockets++ % UNREADABLE_SOCKETS.length] as Buffer);
  });
  return upstream;
}

const opensSocket = (url: string) =>
  new Promise<void>((resolve, reject) => {
    const upgrade = request(url, { headers: { connection: 'Upgrade', upgrade: 'websocket' } });
    upgrade.on('error', reject).on('upgrade', (_response, socket, head) => {
      const leave = () => resolve(void socket.destroy());
      if (head.length > 0) leave();
      else socket.once('data', leave);
    });
    upgrade.end();
  });

/** Leaves as soon as the answer begins. */
const leaves = (url: string, body: string) =>
  new Promise<void>((left) => {
    const call = request(url, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      response.once('data', () => call.destroy());
    });
    call.on('error', () => {}).on('close', () => left());
    call.end(body);
  });

for (const kind of ['embedded', 'server'] as const) {
  const test = suite(`the proxy's metrics (${kind})`);

  test('every label is there with 0, and then the sum over outcomes is what came in', async () => {
    const own = kind === 'server' ? await emptyServerDatabase(process.env.SVC_TEST_DSN ?? '') : null;
    const provider = await startScriptedProvider({ delayMs: 20 });
    const unreadable = await startUnreadableUpstream();
    const folder = await (own ? emptyFolder() : folderWithDatabase());
    const service = await startService(folder, {
      SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url,
      SVC_PROXY_UPSTREAMS_OPENAI: provider.url,
      SVC_PROXY_UPSTREAMS_GEMINI: unreadable.url,
      SVC_PROXY_UPSTREAMS_OLLAMA: 'http://127.0.0.1:1', // where nobody listens
      SVC_CAPTURE_MAX_BODY_BYTES: '4096',
      ...(own && { SVC_STORAGE_POSTGRES_DSN: own.dsn }),
    });
    const { api, proxy } = service;
    try {
      const start = await counted(api);
      const labels = ProviderId.options.flatMap((one) =>
        Outcome.options.map((outcome) => `provider="${one}",outcome="${outcome}"`),
      );
      assert.equal([...start.requests.keys()].sort(), labels.sort());
      assert.equal([...start.reasons.keys()].sort(), [...NOT_CAPTURED].sort());
      assert.equal([total(start.requests), total(start.reasons)], [0, 0]);
      assert.match(start.text, /^svc_journal_bytes \d+$/m);
      assert.match(start.text, /^svc_journal_oldest_seconds 0$/m);
      assert.match(start.text, /^svc_proxy_added_ttfb_seconds_count 0$/m);

      let sent = 0;
      const call = async (path: string, body: string | null, headers: Record<string, string> = {}) => {
        sent++;
        const type = { 'content-type': 'application/json', ...headers };
        const response = await fetch(`${proxy}${path}`, body === null ? {} : { method: 'POST', headers: type, body });
        await response.arrayBuffer();
      };
      await call('/anthropic/v1/messages', chat('Hello'));
      await call('/openai/v1/chat/completions', chat('Hello', true));
      await call('/openai/v1/chat/completions', chat('malformed')); // refused with 400: a turn all the same
      await call('/ollama/api/chat', chat('Hello')); // 502
      await call('/anthropic/v1/messages', chat('x'.repeat(9_000)));
      await call('/anthropic/v1/messages', chat('Unseen'), { 'x-svc-capture': 'off' });
      await call('/openai/v1/models', null);
      await call('/anthropic/v1/nobody/knows', chat('Hello'));
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => call('/anthropic/v1/messages', chat(`One of many ${n}`, n % 2 === 0))),
      );
      await call('/ollama/api/generate', '{"model":"m"}'); // loads a model: what only reading finds
      for (const _ of UNREADABLE_SOCKETS) {
        sent += 2; // the upgrade, and what could not be read
        await opensSocket(`${proxy}/gemini/v1/responses`);
      }
      sent++;
      await leaves(`${proxy}/openai/v1/chat/completions`, chat('Left alone', true));

      const end = await eventually('every request to be counted', async () => {
        const now = await counted(api);
        return total(now.requests) >= sent && now;
      });
      assert.is(total(end.requests), sent);
      assert.equal([...end.requests.keys()].sort(), labels, 'no label but those of the start');
      const outcomes = { disabled: 1, over_limit: 1, not_a_turn: 0, captured: 21 };
      for (const [outcome, times] of Object.entries(outcomes)) assert.is(of(end, 'anthropic', outcome), times, outcome);
      assert.is(of(end, 'openai', 'not_a_turn'), 1);
      assert.is(of(end, 'openai', 'partial'), 1, 'whose client left');
      assert.is(of(end, 'ollama', 'partial'), 2, 'whom no answer came');
      for (const outcome of ['undecodable', 'over_limit']) assert.is(of(end, 'gemini', outcome), 1, outcome);
      assert.ok(Number(/^svc_proxy_added_ttfb_seconds_count (\d+)$/m.exec(end.text)?.[1]) > 20);

      // what only reading tells is counted by intake: then the reasons are those of the ledger
      const booked = await eventually('every request to be booked', async () => {
        const ledger = await read<{ requests: number; outcomes: Record<Outcome, number> }>(`${api}/v1/coverage`);
        return ledger.requests >= sent && ledger;
      });
      assert.is(booked.requests, sent);
      const ofLedger = new Map(NOT_CAPTURED.map((reason) => [reason, booked.outcomes[reason] ?? 0] as const));
      const reasons = await eventually('what is committed to be counted', async () => {
        const { reasons } = await counted(api);
        return total(reasons) >= total(ofLedger) && reasons;
      });
      for (const [reason, times] of ofLedger) assert.is(reasons.get(reason), times, reason);
      assert.equal([ofLedger.get('not_a_turn'), ofLedger.get('undecodable'), ofLedger.get('over_limit')], [4, 1, 2]);

      const { journal } = await eventually('nothing to wait', async () => {
        const status = await read<Status>(`${api}/v1/admin/status`);
        return status.journal?.oldest_seconds === 0 && status;
      });
      assert.ok((journal?.bytes ?? 0) > 0);
    } finally {
      await service.stop();
      await Promise.all([provider.close(), unreadable.close()]);
      await removeFolder(folder);
      await own?.drop();
    }
  });

  if (kind === 'server' && !process.env.SVC_TEST_DSN)
    console.log("skip: the proxy's metrics (server): SVC_TEST_DSN is not set");
  else test.run();
}
