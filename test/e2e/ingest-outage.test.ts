/** The database refuses connections: a gateway is told to come again, and when it does its turn is kept, once. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyServerDatabase } from '../support/databases.ts';
import { acceptance, derivedSession, plainTurn, postTurn, rawTurnsOf, writesOf } from '../support/post-turns.ts';
import { emptyFolder, eventually, removeFolder, type Service, startService } from '../support/serve.ts';
import { type Relay, startRelay } from '../support/tcp-relay.ts';
import { sessionsOf } from '../support/whole-service.ts';

type Context = { service: Service; relay: Relay; undo: (() => Promise<unknown>)[] };

const cluster = process.env.SVC_TEST_DSN ?? '';
const test = suite<Context>('ingest while the database is away (server)');

test.before(async (context) => {
  context.undo = [];
  const { dsn, drop } = await emptyServerDatabase(cluster);
  context.undo.unshift(drop);
  context.relay = await startRelay(dsn);
  context.undo.unshift(context.relay.cut);
  const folder = await emptyFolder();
  context.undo.unshift(() => removeFolder(folder));
  context.service = await startService(folder, { SVC_STORAGE_POSTGRES_DSN: context.relay.through(dsn) });
  context.undo.unshift(async () => assert.is(await context.service.stop(), 0));
});
test.after(async ({ undo }) => {
  for (const step of undo) await step();
});

/** As a gateway does it that keeps what it could not hand over. */
const handedOver = (service: Service, request_id: string) =>
  eventually(`${request_id} to be accepted`, async () => {
    const posted = await postTurn(service, plainTurn(request_id));
    if (posted.status !== 503) return acceptance(posted);
    assert.ok(posted.headers.get('retry-after'));
    return null;
  });

test('503 with Retry-After while connections are refused, then the same request id is accepted', async ({
  service,
  relay,
}) => {
  await handedOver(service, 'before');
  await relay.cut();
  const counted = await writesOf(service, 'unknown', 'unavailable');
  for (let n = 0; n < 2; n++) {
    const { status, headers, text } = await postTurn(service, plainTurn('meanwhile'));
    assert.equal(
      [status, headers.get('retry-after'), text],
      [503, '1', '{"error":"Cannot keep the turn: the database is not available"}'],
    );
  }
  assert.is(await writesOf(service, 'unknown', 'unavailable'), counted + 2);
  assert.is((await postTurn(service, '{')).status, 400, 'what is malformed is told so all the same');
  assert.is((await fetch(`${service.ingest}/ping`)).status, 200);

  await relay.mend();
  const { session_id, deduped } = await handedOver(service, 'meanwhile');
  assert.is(deduped, false);
  assert.equal(
    (await rawTurnsOf(service, session_id)).map(({ request_id }) => request_id),
    ['meanwhile'],
  );
  await derivedSession(service, session_id, 1);
});

test('connections that break under way lose no turn that was accepted, and double none', async ({ service, relay }) => {
  const before = (await sessionsOf(service)).length;
  const sent: string[] = [];
  const accepted: string[] = [];
  let cut: Promise<void> | null = null;
  const senders = Array.from({ length: 6 }, async (_, sender) => {
    for (let n = 0; ; n++) {
      const id = `broken ${sender} ${n}`;
      sent.push(id);
      const posted = await postTurn(service, plainTurn(id));
      if (posted.status === 503) return;
      accepted.push(acceptance(posted).request_id);
      if (accepted.length >= 30) cut ??= relay.cut();
    }
  });
  await Promise.all(senders);
  await cut;

  await relay.mend();
  for (const id of accepted) assert.is((await handedOver(service, id)).deduped, true, `${id} was accepted and is lost`);
  const kept = await Promise.all(sent.map((id) => handedOver(service, id)));
  assert.is(new Set(kept.map(({ raw_turn_id }) => raw_turn_id)).size, sent.length);
  await eventually('all of them to be derived', async () => {
    const sessions = await sessionsOf(service);
    return sessions.length === before + sent.length && sessions.every(({ rollup }) => rollup.turn_count === 1);
  });
});

if (cluster === '') console.log('skip: ingest while the database is away (server): SVC_TEST_DSN is not set');
else test.run();
