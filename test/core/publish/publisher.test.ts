/** New nodes reach the brokers once, in order, and brokers that are away cost nothing but a count. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { builtIn } from '../../../core/call/reader.ts';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import type { NewNode } from '../../../core/db/store/new-nodes.ts';
import { rereadSession } from '../../../core/engine/derive/reread-session.ts';
import { purgeSession } from '../../../core/engine/purge-session.ts';
import { DatabaseError } from '../../../core/errors.ts';
import { openMetrics } from '../../../core/metrics.ts';
import { openBroker } from '../../../core/publish/broker.ts';
import { MAX_EVENT_BYTES, NodeEvent } from '../../../core/publish/node-event.ts';
import { openPublisher, type Publisher } from '../../../core/publish/publisher.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite, embeddedDatabase, type TestDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { eventually } from '../../support/eventually.ts';
import { consumed, newTopic, sharedBrokers, startBroker, startSilentServer } from '../../support/kafka.ts';

const brokers = sharedBrokers('publisher');

const named = (session: string): [string, string][] => [['x-svc-harness-session-id', session]];

/** A conversation that the provider keeps: each call names the answer that it continues. */
const continuing = (n: number): JournalCall =>
  capturedCall({
    n: 100 + n,
    format: 'openai.responses',
    request: { model: 'gpt-5', input: `Question ${n}`, ...(n > 1 && { previous_response_id: `resp_${n - 1}` }) },
    response: JSON.stringify({
      ...{ id: `resp_${n}`, object: 'response', status: 'completed', model: 'gpt-5' },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `Answer ${n}` }] }],
    }),
  });

const LARGE = 'x'.repeat(MAX_EVENT_BYTES);
const first = [
  capturedCall({ n: 1, request: chat('hi'), response: chatAnswer('well'), headers: named('s') }),
  capturedCall({ n: 2, request: chat('hi', 'well', 'more'), response: chatAnswer('much'), headers: named('s') }),
  capturedCall({ n: 3, request: chat('hi', 'well', 'other'), response: chatAnswer('else'), headers: named('s') }),
  capturedCall({ n: 4, request: chat('hallo\u0000\ud800 "Welt"'), response: chatAnswer('ja'), headers: named('t') }),
  continuing(1),
  continuing(2),
];
const second = [
  capturedCall({
    n: 5,
    request: {
      messages: [
        ...chat('hi', 'well', 'more', 'much').messages,
        { role: 'user', content: '# MCP Server Instructions\nx' },
        { role: 'user', content: LARGE },
      ],
    },
    response: chatAnswer('bye'),
    headers: named('s'),
  }),
  continuing(3),
  capturedCall({ n: 6, request: chat('hi', 'well', 'more'), response: chatAnswer('much'), headers: named('s') }), // nothing new
];

const MANY = 500_000; // nodes of one call, which no function takes as arguments

type Logged = { level: string; reason: string };

function openOn(database: TestDatabase, to: string[], topic: string, options: { maxQueued?: number } = {}) {
  const metrics = openMetrics('engine');
  const logged: Logged[] = [];
  const note = (level: string) => (facts: { reason?: string } | string) =>
    void logged.push({ level, reason: typeof facts === 'string' ? '' : (facts.reason ?? '') });
  const publisher = openPublisher({
    database,
    reader: builtIn,
    broker: openBroker({ brokers: to, topic, client_id: 'svc-test' }),
    log: { warn: note('warn'), info: note('info') },
    metrics,
    ...options,
  });
  return { publisher, logged, text: () => metrics.text() };
}

const newNodes = async (database: TestDatabase, calls: readonly JournalCall[]): Promise<NewNode[]> =>
  (await takeIn(database, calls, undefined, true)).flatMap(({ new_nodes }) => new_nodes ?? []);

const settled = (publisher: Publisher, nodes: number) =>
  eventually(() => {
    const { published, failed, dropped } = publisher.state();
    return published + failed + dropped >= nodes;
  });

databaseSuite('publisher', (test, database) => {
  test.before.each(() => database().reset());

  if (brokers) {
    test('each node is published once, under its root, after its parent; a rereading and a repetition publish nothing', async () => {
      const topic = newTopic();
      const before = openOn(database(), brokers, topic);
      const nodes = await newNodes(database(), first);
      before.publisher.publish(nodes);
      await settled(before.publisher, nodes.length);
      await before.publisher.close(5_000);

      const after = openOn(database(), brokers, topic); // which remembers nothing
      const more = await newNodes(database(), second);
      after.publisher.publish(more);
      await settled(after.publisher, more.length);
      assert.equal(await newNodes(database(), [...first, ...second]), []);
      for (const { session_id } of await database().sql('select session_id from svc.sessions'))
        await rereadSession(database(), builtIn, String(session_id));
      await deriveAll(database());
      await after.publisher.close(5_000);
      assert.equal(after.publisher.state(), {
        ...{ queued: 0, published: more.length, failed: 0, dropped: 0, reason: null },
      });
      assert.match(await after.text(), `svc_publish_nodes_total{result="published"} ${more.length}`);

      const stored = await database().sql(`
        select encode(node_hash, 'hex') as hash, encode(parent_hash, 'hex') as parent_hash, session_id, role, injected, depth
          from svc.nodes`);
      const messages = await consumed(brokers, topic);
      const events = messages.map(({ value }) => NodeEvent.parse(JSON.parse(value)));
      const key = (one: { hash: unknown; session_id: unknown }) => `${one.session_id} ${one.hash}`;
      assert.equal(
        events.map(({ session_id, node }) => key({ session_id, hash: node.hash })).sort(),
        stored.map((row) => key({ session_id: row.session_id, hash: row.hash })).sort(),
      );
      const byKey = new Map(stored.map((row) => [key({ session_id: row.session_id, hash: row.hash }), row]));
      const seen = new Set<string>();
      for (const [index, { root_hash, session_id, node, occurred_at }] of events.entries()) {
        const row = byKey.get(key({ session_id, hash: node.hash }));
        const { hash, parent_hash, role, injected, depth } = node;
        assert.equal({ hash, parent_hash, session_id, role, injected, depth }, row);
        if (parent_hash !== null) assert.ok(seen.has(`${session_id} ${parent_hash}`), 'a node comes after its parent');
        seen.add(`${session_id} ${hash}`);
        assert.is(messages[index]?.key, root_hash);
        assert.is(messages[index]?.timestamp, Date.parse(occurred_at));
      }
      const roots = new Map(events.map(({ root_hash, session_id }) => [session_id, root_hash]));
      for (const { root_hash, session_id } of events) assert.is(root_hash, roots.get(session_id));
      assert.is(new Set(roots.values()).size, 3);
      for (const root of new Set(messages.map((one) => one.key)))
        assert.is(new Set(messages.filter((one) => one.key === root).map((one) => one.partition)).size, 1);

      const textOf = (event: NodeEvent | undefined) => event?.node.content?.map(({ text }) => text).join('');
      const texts = events.map(textOf);
      for (const text of ['hi', 'well', 'hallo\u0000\ud800 "Welt"', 'Question 3', 'Answer 3', 'bye'])
        assert.ok(texts.includes(text), text);
      const large = events.filter(({ node }) => node.content === null);
      assert.equal(
        large.map(({ node }) => node.content_omitted),
        ['too-large'],
      );
      const answer = events.find((event) => textOf(event) === 'bye');
      assert.is(answer?.node.usage?.output_tokens, 5);
      assert.is(answer?.call.project, 'atlas');
    });

    test('what is queued at a stop is sent, for a bounded time', async () => {
      const topic = newTopic();
      const { publisher } = openOn(database(), brokers, topic);
      const nodes = await newNodes(database(), first);
      publisher.publish(nodes);
      await publisher.close(20_000);
      assert.is((await consumed(brokers, topic)).length, nodes.length);
    });

    test('a stop while the database is away leaves it a pause after each attempt', async () => {
      const nodes = await newNodes(database(), first);
      let attempts = 0;
      const execute: TestDatabase['execute'] = async () => {
        attempts++;
        throw new DatabaseError('the database is away', '08006', true);
      };
      const { publisher } = openOn({ ...database(), execute }, brokers, newTopic());
      publisher.publish(nodes);
      await publisher.close(1_500);
      assert.ok(attempts > 0 && attempts < 40, `${attempts} attempts`);
      assert.is(publisher.state().dropped, nodes.length);
    });

    test('a node whose turn was purged meanwhile is not published', async () => {
      const topic = newTopic();
      const nodes = await newNodes(database(), first);
      const session_id = nodes[0]?.session_id ?? '';
      const left = nodes.filter((node) => node.session_id !== session_id).length;
      await purgeSession(database().execute, { session_id, reason: 'test' });
      const { publisher } = openOn(database(), brokers, topic);
      publisher.publish(nodes);
      await settled(publisher, nodes.length);
      await publisher.close(5_000);
      assert.is(publisher.state().dropped, nodes.length - left);
      const events = (await consumed(brokers, topic)).map(({ value }) => NodeEvent.parse(JSON.parse(value)));
      assert.is(events.length, left);
      assert.not.ok(events.some((event) => event.session_id === session_id));
    });
  }
});

/** Where the nodes are stored makes no difference to it. */
const away = suite('publisher without brokers');
let database: TestDatabase;
away.before(async () => {
  database = await embeddedDatabase();
});
away.after(() => database.close());
away.before.each(() => database.reset());

if (brokers)
  away('a broker that hangs costs what was under way, and what comes after it is published', async () => {
    const broker = await startBroker();
    const topic = newTopic();
    const { publisher, logged } = openOn(database, broker.brokers, topic);
    try {
      const nodes = await newNodes(database, first);
      publisher.publish(nodes);
      await settled(publisher, nodes.length);
      assert.is(publisher.state().published, nodes.length);

      broker.hang();
      const more = await newNodes(database, second);
      publisher.publish(more);
      await eventually(() => publisher.state().reason !== null);
      broker.resume();
      await settled(publisher, nodes.length + more.length);
      await eventually(() => publisher.state().reason === null);
      const { published, failed, dropped } = publisher.state();
      assert.is(published + failed, nodes.length + more.length);
      assert.is(dropped, 0);
      assert.equal(
        logged.map(({ level }) => level),
        ['warn', 'info'],
      );
      const events = (await consumed(broker.brokers, topic)).map(({ value }) => NodeEvent.parse(JSON.parse(value)));
      const hashes = events.map(({ session_id, node }) => `${session_id} ${node.hash}`);
      assert.is(new Set(hashes).size, hashes.length, 'nothing was sent twice');
      assert.ok(hashes.length >= published);
    } finally {
      await publisher.close(0);
      broker.stop();
    }
  });

for (const how of ['refuses connections', 'accepts them and never responds'] as const)
  away(`a broker that ${how}: the queue is bounded, one line is logged, and a stop does not wait`, async () => {
    const silent = how === 'refuses connections' ? null : await startSilentServer();
    const { publisher, logged, text } = openOn(database, [silent?.address ?? '127.0.0.1:1'], 'nowhere', {
      maxQueued: 100,
    });
    const [node] = await newNodes(database, first);
    assert.ok(node);
    const from = performance.now();
    for (let n = 0; n < 10_000; n++) publisher.publish([{ ...node }]);
    publisher.publish(Array<NewNode>(MANY).fill(node));
    assert.ok(performance.now() - from < 2_000);
    await eventually(() => publisher.state().reason !== null);
    const { queued, dropped, published, failed } = publisher.state();
    assert.equal(
      { queued, dropped, published, failed },
      { queued: 100, dropped: 9_900 + MANY, published: 0, failed: 0 },
    );
    assert.match(await text(), 'svc_publish_broker_up{to="kafka"} 0');
    const stop = performance.now();
    await publisher.close(5_000);
    assert.ok(performance.now() - stop < 4_000);
    assert.is(publisher.state().dropped, 10_000 + MANY);
    assert.is(logged.length, 1);
    assert.ok(logged[0]?.reason);
    silent?.close();
  });
away.run();
