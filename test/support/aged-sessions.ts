/** Sessions of a given age, and sweeps of retention over them. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { sessionId } from '../../core/call/identity.ts';
import { builtIn } from '../../core/call/reader.ts';
import { openPrecedence } from '../../core/engine/precedence.ts';
import { sweepRetention } from '../../core/engine/retention/sweep.ts';
import { openCheckedSlices } from '../../core/engine/verify/checked-slices.ts';
import { verifiedSessions } from '../../core/engine/verify/verified-sessions.ts';
import type { RetentionRules } from '../../core/model/retention.ts';
import { StatsQuery } from '../../core/model/stats.ts';
import { capturedCall, chat, chatAnswer } from './captured-calls.ts';
import type { TestDatabase } from './databases.ts';
import { deriveAll } from './derive-all.ts';
import { ingestBody, testIngest } from './ingested-turns.ts';

/** The moment of every sweep. */
export const NOW = Date.parse('2026-07-27T10:00:00Z');
const DAY_MS = 86_400_000;
export const daysAgo = (days: number, ms = 0) => new Date(NOW - days * DAY_MS + ms).toISOString();

/** The id of a session by the name that its turns give it. */
export const session = (name: string) => sessionId('test', name);

/** A turn of a session, `days` old; what all sessions hold, and what only this one does. */
export const agedTurn = (name: string, turn: number, days: number) => {
  const call = capturedCall({
    n: ++calls,
    request: chat(
      'shared by all sessions',
      `${name} begins`,
      ...Array.from({ length: turn }, (_, i) => `${name} ${i}`),
    ),
    response: chatAnswer(`answer ${turn} of ${name}`),
    headers: [
      ['x-svc-harness-id', 'test'],
      ['x-svc-harness-session-id', name],
    ],
  });
  const at = daysAgo(days, turn * 1_000);
  return ingestBody({
    ...call,
    opened: { ...call.opened, requested_at: at },
    ...(call.responseHead && { responseHead: { ...call.responseHead, first_byte_at: at } }),
    ...(call.closed && { closed: { ...call.closed, last_byte_at: at } }),
  });
};
let calls = 0;

/** The next turns are those that were stored first, so that two databases can have the same. */
export const repeatTurns = () => {
  calls = 0;
};

const rules = (own: Partial<RetentionRules>): RetentionRules => ({
  ...{ days: null, maxBytes: null, projects: new Map(), dryRun: false },
  ...own,
});

export const sweep = (database: TestDatabase, own: Partial<RetentionRules>, signal = new AbortController().signal) =>
  sweepRetention({
    database,
    rules: rules(own),
    now: NOW,
    signal,
    committing: openPrecedence(database).committing,
    pause: () => Promise.resolve(),
  });

export const stats = (database: TestDatabase) => database.execute('readStats', StatsQuery.parse({}));

/** @returns turns, and positions that tombstones explain */
export async function assertVerified(database: TestDatabase) {
  const sum = { turns: 0, purged: 0 };
  const verifier = { database, reader: builtIn, slices: openCheckedSlices(database) };
  for await (const verified of verifiedSessions(verifier, { session: null, head: null })) {
    assert.equal(verified.first_breaks, []);
    sum.turns += verified.turns;
    sum.purged += verified.purged;
  }
  return sum;
}

export const listed = async (database: TestDatabase) =>
  (await database.sql(`select id from svc_v1.sessions order by id`)).map(({ id }) => String(id));

export type Age = { turns: number; days: number };

/** Stores turns of that age, and derives all. */
export async function storeAged(database: TestDatabase, sessions: Record<string, Age>): Promise<void> {
  const writer = await testIngest(database);
  for (const [name, { turns, days }] of Object.entries(sessions)) {
    for (let turn = 0; turn < turns; turn++) {
      const verdict = await writer.append(agedTurn(name, turn, days), null);
      assert.is(verdict.kind, 'accepted', JSON.stringify(verdict));
    }
  }
  await deriveAll(database);
}

/** Two writers store turns of now until the work is done; some go on in sessions that may be removed just then. */
export async function storingMeanwhile<T>(
  database: TestDatabase,
  old: readonly string[],
  work: () => Promise<T>,
): Promise<{ written: number; result: T }> {
  let writing = true;
  const write = async (n: number) => {
    const writer = await testIngest(database);
    let turns = 0;
    for (; writing && turns < 300; turns++) {
      const name = (turns % 3 === 0 && old[turns % old.length]) || `new ${n} ${turns % 4}`;
      const verdict = await writer.append(agedTurn(name, turns % 12, 0), null);
      assert.is(verdict.kind, 'accepted', JSON.stringify(verdict));
      await sleep(5);
    }
    return turns;
  };
  const writers = [write(0), write(1)];
  await sleep(50);
  const result = await work();
  writing = false;
  return { written: (await Promise.all(writers)).reduce((a, b) => a + b, 0), result };
}

/** The counts in the sessions' rows are those of their turns, and the totals those of the nodes. */
export async function assertCounted({ sql }: TestDatabase): Promise<void> {
  const counts = await sql(`
    select s.session_id from svc.sessions s
     where s.turn_count + s.moved_turns - s.purged_turns
           <> (select count(*) from svc.effective_turns e where e.session_id = s.session_id)`);
  assert.equal(counts, [], 'the counts of what is left are exact');
  const [totals] = await sql(`
    select (select coalesce(sum(turn_count), 0)::integer from svc.stat_days) as days,
           (select coalesce(sum(turn_count), 0)::integer from svc.stat_cells) as cells,
           (select count(*)::integer from svc.nodes) as nodes`);
  assert.equal([totals?.days, totals?.cells], [totals?.nodes, totals?.nodes]);
}
