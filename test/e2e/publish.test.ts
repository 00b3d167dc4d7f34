/** Node events of running services: two processes on one database publish each node once, and a restart or a new derivation none of them again. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Status } from '../../core/model/status.ts';
import { NodeEvent } from '../../core/publish/node-event.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { consumed, newTopic, sharedBrokers } from '../support/kafka.ts';
import { acceptedTurn, plainTurn } from '../support/post-turns.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { emptyFolder, eventually, read, removeFolder, startIngest, startService, svc } from '../support/serve.ts';

const test = suite('publishing of running services');
const brokers = sharedBrokers('publishing of running services');
const dsn = process.env.SVC_TEST_DSN ?? '';
if (dsn === '') console.log('skip: publishing of running services: SVC_TEST_DSN is not set');

const statusOf = (api: string) => read<Status>(`${api}/v1/admin/status`);

async function say(proxy: string, words: readonly string[]): Promise<void> {
  const messages = words.map((content, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content }));
  const response = await fetch(`${proxy}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages }),
  });
  assert.is(response.status, 200, await response.text());
}

if (brokers && dsn !== '')
  test('each node once, from whichever process, in the order of its conversation', async () => {
    const [own, provider, topic] = [await emptyServerDatabase(dsn), await startScriptedProvider(), newTopic()];
    const [folder, otherFolder] = [await emptyFolder(), await emptyFolder()];
    const env = {
      SVC_STORAGE_POSTGRES_DSN: own.dsn,
      SVC_PROXY_UPSTREAMS_OPENAI: provider.url,
      SVC_PUBLISHER_STREAM_BROKERS: brokers.join(','),
      SVC_PUBLISHER_STREAM_TOPIC: topic,
    };
    let service = await startService(folder, env);
    const other = await startIngest(otherFolder, env);
    try {
      for (const name of ['one', 'two', 'three']) {
        await say(service.proxy, [name]);
        await say(service.proxy, [name, `You said: ${name}`, 'more']);
      }
      for (let n = 0; n < 5; n++) await acceptedTurn(n % 2 === 0 ? other : service, plainTurn(`turn-${n}`));
      await acceptedTurn(other, plainTurn('turn-1')); // once more, to the other process
      const NODES = 3 * 4 + 5 * 2;
      const published = await eventually('all nodes on the topic', async () => {
        const { counts, publisher } = await statusOf(service.api);
        const messages = counts.nodes === NODES ? await consumed(brokers, topic) : [];
        return messages.length >= NODES && publisher?.queued === 0 ? { messages, publisher } : null;
      });
      const { queued, failed, dropped, reason } = published.publisher;
      assert.equal({ queued, failed, dropped, reason }, { queued: 0, failed: 0, dropped: 0, reason: null });
      const page = await svc(folder, ['status'], { SVC_CLIENT_API_TARGET: service.api });
      assert.match(page.out, /publishing +\d+ nodes sent since the start\n/);
      assert.match(await (await fetch(`${service.api}/metrics`)).text(), /^svc_publish_broker_up\{to="kafka"\} 1$/m);

      await service.stop();
      service = await startService(folder, env);
      const response = await fetch(`${service.api}/v1/admin/derive/run`, { method: 'POST' });
      assert.ok(response.ok, await response.text());
      await acceptedTurn(service, plainTurn('last')); // what comes after it has passed, so nothing before it is on its way
      await eventually('the last node on the topic', async () => {
        const { derive } = await statusOf(service.api);
        return derive.queued === 0 && (await consumed(brokers, topic)).length >= NODES + 2;
      });
      assert.is(await other.stop(), 0);
      assert.is(await service.stop(), 0);

      const messages = await consumed(brokers, topic);
      const events = messages.map(({ value }) => NodeEvent.parse(JSON.parse(value)));
      assert.is(events.length, NODES + 2);
      assert.is(new Set(events.map(({ session_id, node }) => `${session_id} ${node.hash}`)).size, events.length);
      const seen = new Set<string>();
      for (const [index, { root_hash, node }] of events.entries()) {
        assert.is(messages[index]?.key, root_hash);
        assert.ok(node.parent_hash === null ? root_hash === node.hash : seen.has(node.parent_hash));
        seen.add(node.hash);
      }
      assert.not.match(service.log() + other.log(), 'TimeoutNegativeWarning');
    } finally {
      await service.kill();
      await other.kill();
      await provider.close();
      await own.drop();
      await removeFolder(folder);
      await removeFolder(otherFolder);
    }
  });

test.run();
