/** Whoever listens to the real service hears of each session that changes, across cuts and restarts: nothing left out, nothing twice. */
import * as assert from 'uvu/assert';
import type { Event } from '../../core/model/event.ts';
import { readEvents } from '../support/event-reader.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { onEachDatabase, sessionsOf } from '../support/whole-service.ts';

/** One turn of a conversation that the client names. */
async function say({ proxy }: Service, conversation: string, question: string): Promise<void> {
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-harness-session-id': conversation },
    body: JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 9,
      stream: true,
      messages: [{ role: 'user', content: question }],
    }),
  });
  await response.text();
}

const turnCountOf = (event: Event | null): [conversation: string, turns: number] => {
  if (event?.event !== 'session') throw new Error(`Cannot tell a session: it is ${event?.event ?? 'the end'}`);
  return [event.data.session.harness_session_id, event.data.session.raw_turn_count];
};

onEachDatabase('events of a service', (test) => {
  let id = '';

  test('each turn is told once it can be read, as GET /v1/sessions/{id} shows the session', async ({ service }) => {
    const reader = await readEvents(`${service.api}/v1/events`);
    await reader.nextOfAny();
    await say(service, 'one', 'First');
    const first = await reader.next();
    assert.equal(turnCountOf(first), ['one', 1]);
    assert.ok(first?.event === 'session');
    assert.equal(first.data, await read(`${service.api}/v1/sessions/${first.data.session.id}`));
    assert.is(first.data.session.rollup.turn_count, 1, 'derived already');
    await say(service, 'one', 'Second');
    await say(service, 'two', 'First');
    const next = [turnCountOf(await reader.next()), turnCountOf(await reader.next())].sort();
    assert.equal(next, [
      ['one', 2],
      ['two', 1],
    ]);
    id = first.id;
    reader.leave();
  });

  test('a session that is derived again and reads as before is not told', async ({ service }) => {
    const reader = await readEvents(`${service.api}/v1/events`);
    await reader.nextOfAny();
    const again = await fetch(`${service.api}/v1/admin/derive/run`, { method: 'POST' });
    assert.is(again.status, 200);
    await say(service, 'three', 'First');
    assert.equal(turnCountOf(await reader.next()), ['three', 1]);
    reader.leave();
  });

  test('after a cut it goes on where it ended, though the service was started anew', async (stand) => {
    await say(stand.service, 'four', 'First');
    await eventually('the turn', async () => (await sessionsOf(stand.service)).length === 4);
    await stand.service.stop();
    const service = await stand.start();
    await say(service, 'five', 'First');
    const reader = await readEvents(`${service.api}/v1/events`, { 'last-event-id': id });
    const heard = [];
    for (let n = 0; n < 5; n += 1) heard.push(turnCountOf(await reader.next()));
    assert.equal(heard.sort(), [
      ['five', 1],
      ['four', 1],
      ['one', 2],
      ['three', 1],
      ['two', 1],
    ]);
    reader.leave();
  });

  test('a reader that is cut after every event hears every session to its last turn, and none of it twice', async ({
    service,
  }) => {
    const TURNS = 4;
    const conversations = Array.from({ length: 12 }, (_, i) => `many-${i}`);
    const opening = await readEvents(`${service.api}/v1/events`);
    let last = (await opening.nextOfAny())?.id ?? '';
    opening.leave();
    const talking = Promise.all(
      conversations.map(async (conversation) => {
        for (let turn = 0; turn < TURNS; turn += 1) await say(service, conversation, `Question ${turn}`);
      }),
    );
    // a turn may be stored and not derived yet when the one before is told: each event is ahead in one or the other
    const turns = new Map<string, number>();
    while ([...turns.values()].filter((count) => count === 2 * TURNS).length < conversations.length) {
      const reader = await readEvents(`${service.api}/v1/events`, { 'last-event-id': last });
      const event = await reader.next();
      reader.leave();
      assert.ok(event?.event === 'session');
      const { harness_session_id: conversation, raw_turn_count, rollup } = event.data.session;
      const count = raw_turn_count + rollup.turn_count;
      assert.ok(count > (turns.get(conversation) ?? 0), `${conversation} is told again as it was`);
      turns.set(conversation, count);
      last = event.id;
    }
    await talking;
    assert.equal([...turns.keys()].sort(), [...conversations].sort());
  });

  test('the stream ends when the service stops', async (stand) => {
    const reader = await readEvents(`${stand.service.api}/v1/events`);
    assert.is((await reader.nextOfAny())?.event, 'ping');
    const [status, end] = await Promise.all([stand.service.stop(), reader.next()]);
    assert.equal([status, end], [0, null]);
    await stand.start();
  });

  test.run();
});
