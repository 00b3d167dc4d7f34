/** A budget that one call exceeds: one event, one line, one count, and a webhook that failed twice before it took it. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BudgetCrossing } from '../../core/model/budget.ts';
import type { Status } from '../../core/model/status.ts';
import { readEvents } from '../support/event-reader.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { eventually, read, removeFolder, startService } from '../support/serve.ts';

const SECRET = 'a secret of the webhook';
const test = suite('budgets');

type Received = { signature: string; body: string };

/** As a receiver verifies it: the signature of the exact bytes, then the age of what they say. */
function isGenuine({ signature, body }: Received, secret: string, now = Date.now()): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const received = Buffer.from(signature);
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return false;
  return Math.abs(now - Date.parse(JSON.parse(body).sent_at)) < 300_000;
}

/** Fails twice, the second time by a redirect. */
async function startReceiver() {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ signature: String(request.headers['x-svc-signature']), body });
    if (received.length === 1) response.writeHead(500).end();
    else if (received.length === 2) response.writeHead(307, { location: '/elsewhere' }).end();
    else response.writeHead(204).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return { received, url: `http://127.0.0.1:${port}/hook`, close: () => server.close() };
}

/** One response costs two dollars and a half. */
async function startProvider() {
  const server = createServer((request, response) => {
    request.resume().on('end', () =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          ...{ id: 'chatcmpl-1', model: 'gpt-4o' },
          choices: [{ index: 0, message: { role: 'assistant', content: 'Yes' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1_000_000, completion_tokens: 0 },
        }),
      ),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

test('one call over a budget is one event, which survives a restart and a webhook that fails', async () => {
  const [receiver, provider, folder] = [await startReceiver(), await startProvider(), await folderWithDatabase()];
  const env = {
    SVC_PROXY_UPSTREAMS_OPENAI: provider.url,
    SVC_BUDGET_DAILY_USD: '2',
    SVC_BUDGET_MONTHLY_USD: '1000',
    SVC_BUDGET_WEBHOOK: receiver.url,
    SVC_BUDGET_WEBHOOK_SECRET: SECRET,
  };
  let service = await startService(folder, env);
  try {
    const events = await readEvents(`${service.api}/v1/events`);
    const call = await fetch(`${service.proxy}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Is it?' }] }),
    });
    assert.is(call.status, 200);
    await call.text();
    const first = await events.next();
    let event = first;
    while (event && event.event !== 'budget_exceeded') event = await events.next();
    const crossing = event?.data as BudgetCrossing;
    assert.equal([crossing.budget, crossing.limit_usd, crossing.spent_usd], ['daily_usd', 2, 2.5]);
    await eventually('the webhook to take it', async () => receiver.received.length >= 3);
    for (const received of receiver.received) assert.ok(isGenuine(received, SECRET));
    const last = JSON.parse(receiver.received[2]?.body ?? '');
    assert.equal(last.data, crossing);
    assert.equal([last.event, last.id, last.attempt], ['budget_exceeded', `daily_usd/${crossing.period_start}`, 3]);
    assert.not.ok(isGenuine(receiver.received[0] as Received, SECRET, Date.now() + 600_000), 'a replay is too old');
    const state = await eventually('the delivery to be stored', async () => {
      const [daily, monthly] = (await read<Status>(`${service.api}/v1/admin/status`)).budgets ?? [];
      return daily?.delivery === 'delivered' && { daily, monthly };
    });
    assert.is(state.monthly?.crossed_at, undefined);
    assert.match(await (await fetch(`${service.api}/metrics`)).text(), 'svc_budget_crossings_total{period="day"} 1');
    events.leave();
    assert.is(await service.stop(), 0);
    const log = service.log();
    assert.is(log.split('a budget is exceeded').length, 2, 'one line');
    assert.not.ok(log.includes(SECRET) || log.includes(receiver.url));
    service = await startService(folder, env);
    const after = await readEvents(`${service.api}/v1/events?after=${encodeURIComponent(event?.id ?? '')}`);
    await new Promise((done) => setTimeout(done, 4_000)); // budgets are looked at every three seconds
    assert.equal(
      after.pending().filter(({ event }) => event === 'budget_exceeded'),
      [],
    );
    after.leave();
    const before = await readEvents(`${service.api}/v1/events?after=${encodeURIComponent(first?.id ?? '')}`);
    const resumed = await eventually('the crossing after an id from before it', async () =>
      before.pending().find(({ event }) => event === 'budget_exceeded'),
    );
    assert.equal(resumed.data, crossing);
    before.leave();
    assert.is(receiver.received.length, 3);
  } finally {
    await service.stop();
    await removeFolder(folder);
    receiver.close();
    provider.close();
  }
});

test.run();
