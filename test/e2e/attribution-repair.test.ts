/** A turn of the real service that was booked to the wrong session is put right, and whoever listens hears of both. */
import * as assert from 'uvu/assert';
import { AttributionRepaired } from '../../core/model/attribution-repair.ts';
import type { Event } from '../../core/model/event.ts';
import { readEvents } from '../support/event-reader.ts';
import { eventually, read, type Service, svc } from '../support/serve.ts';
import { onEachDatabase, sessionsOf } from '../support/whole-service.ts';

async function say({ proxy }: Service, conversation: string, question: string): Promise<void> {
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-svc-harness-id': 'mine',
      'x-svc-harness-session-id': conversation,
    },
    body: JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 9,
      stream: true,
      messages: [{ role: 'user', content: question }],
    }),
  });
  await response.text();
}

type Turns = { items: { raw_turn_id: number; svc_proxy_request_id: string; session_id: string }[] };

const turnsOf = async ({ api }: Service, conversation: string) => {
  const session = (await sessionsOf({ api } as Service)).find((one) => one.harness_session_id === conversation);
  assert.ok(session, conversation);
  return { id: session.id, turns: (await read<Turns>(`${api}/v1/sessions/${session.id}/raw_turns`)).items };
};

async function repair({ api }: Service, body: Record<string, unknown>): Promise<AttributionRepaired> {
  const response = await fetch(`${api}/v1/admin/raw-turns/attribution-repair`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ harness_id: 'mine', reason: 'test', ...body }),
  });
  assert.is(response.status, 200, await response.clone().text());
  return AttributionRepaired.parse(await response.json());
}

onEachDatabase('attribution repair of a service', (test) => {
  test('a turn moves between sessions and back, by either of its ids, and events tell of it', async (stand) => {
    const { service } = stand;
    await say(service, 'right', 'First');
    await say(service, 'wrong', 'Strayed');
    await say(service, 'wrong', 'At home');
    await eventually('the turns', async () => {
      const sessions = await sessionsOf(service);
      return sessions.reduce((sum, { rollup }) => sum + rollup.turn_count, 0) === 3;
    });
    const wrong = await turnsOf(service, 'wrong');
    const right = await turnsOf(service, 'right');
    const [stray] = wrong.turns;
    assert.ok(stray);
    const reader = await readEvents(`${service.api}/v1/events`);
    await reader.nextOfAny();

    const repaired = await repair(service, {
      svc_proxy_request_id: stray.svc_proxy_request_id,
      harness_session_id: 'right',
    });
    assert.equal(
      [repaired.recorded, repaired.previous.session_id, repaired.effective.session_id],
      [true, wrong.id, right.id],
    );
    assert.is((await turnsOf(service, 'right')).turns.length, 2);
    assert.equal(
      (await sessionsOf(service))
        .map(({ harness_session_id, rollup }) => [harness_session_id, rollup.turn_count])
        .sort(),
      [
        ['right', 2],
        ['wrong', 1],
      ],
    );
    const turnCounts = new Map<string, number>();
    while (turnCounts.get('right') !== 2 || turnCounts.get('wrong') !== 1) {
      const event: Event | null = await reader.next();
      if (event?.event !== 'session') throw new Error('a session is told');
      turnCounts.set(event.data.session.harness_session_id, event.data.session.rollup.turn_count);
    }

    // The other one goes as well: nothing is left of its session, until one comes back.
    const [home] = (await turnsOf(service, 'wrong')).turns;
    await repair(service, { raw_turn_id: home?.raw_turn_id, harness_session_id: 'right' });
    assert.is((await fetch(`${service.api}/v1/sessions/${wrong.id}`)).status, 404);
    let gone = false;
    while (!gone) {
      const event: Event | null = await reader.next();
      if (!event) throw new Error('it is told that the session is gone');
      gone = event.event === 'session_deleted' && event.data.session_id === wrong.id;
    }
    reader.leave();
    await repair(service, { raw_turn_id: home?.raw_turn_id, harness_session_id: 'wrong' });
    assert.is((await turnsOf(service, 'wrong')).turns.length, 1);
  });

  test('what was put right stays so after a restart, and svc verify finds it in order', async (stand) => {
    const before = await Promise.all(
      (await sessionsOf(stand.service)).map(({ id }) => read(`${stand.service.api}/v1/sessions/${id}/traces`)),
    );
    assert.is(await stand.service.stop(), 0);
    const { status, out } = await svc(stand.folder, ['verify'], {
      ...(stand.dsn === '' ? {} : { SVC_STORAGE_POSTGRES_DSN: stand.dsn }),
    });
    assert.is(status, 0, out);
    assert.match(out, /^Checked 2 sessions, 3 turns, /);
    const service = await stand.start();
    await fetch(`${service.api}/v1/admin/derive/run`, { method: 'POST' });
    const after = await Promise.all(
      (await sessionsOf(service)).map(({ id }) => read(`${service.api}/v1/sessions/${id}/traces`)),
    );
    assert.equal(after, before);
  });

  test.run();
});
