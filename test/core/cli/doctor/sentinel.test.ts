import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiClient } from '../../../../core/cli/api-client.ts';
import { reasonIn, sentinelThroughIngest, sentinelThroughProxy } from '../../../../core/cli/doctor/sentinel.ts';
import { OperatorError } from '../../../../core/errors.ts';

const test = suite('a call of svc doctor');

/** A service in which the call is found, with a database that takes nothing any more. */
const api = {
  address: 'http://localhost:8081',
  json: async ({ method, what }: { method?: string; what: string }) => {
    if (method === 'DELETE') throw new OperatorError(`Cannot ${what}: Cannot answer: the database is not available`);
    return { items: [{ session_id: 'a-session', ending: 'complete' }] };
  },
} as unknown as ApiClient;

async function listening(status: number, work: (address: string) => Promise<void>): Promise<void> {
  const respond: RequestListener = (_, response) => void response.writeHead(status).end('{}');
  const server = createServer(respond).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).finally(() => server.close());
}

test('one that cannot be hidden afterwards is a failed check, in plain words, and ends no other', async () => {
  const why =
    'and stays in the lists as session a-session, since it could not be hidden: the database is not available';
  await listening(202, async (ingest) => {
    const { level, text } = await sentinelThroughIngest(api, ingest);
    assert.equal([level, text], ['fail', `a call was accepted and read back, ${why}`]);
  });
  await listening(401, async (proxy) => {
    const { level, text } = await sentinelThroughProxy(api, proxy, 'anthropic');
    assert.equal([level, text], ['fail', `a call was recorded and read back, ${why}`]);
  });
});

test("the reason of a refusal is without 'Cannot …:', once or twice", () => {
  assert.is(reasonIn(new OperatorError('Cannot read it: the service has ended')), 'the service has ended');
  assert.is(reasonIn(new OperatorError('Cannot read it: Cannot answer: it is busy: wait')), 'it is busy: wait');
});

test.run();
