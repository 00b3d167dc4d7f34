/** From the journal into the database: each call once, in whatever state the database is meanwhile. */
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { bytesOfRuns, type Journal, openJournal } from '../../../../core/capture/journal.ts';
import { segmentsIn } from '../../../../core/capture/journal-files.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { openJournalReader } from '../../../../core/capture/journal-reader.ts';
import { redactHeaders } from '../../../../core/capture/redact.ts';
import type { Database } from '../../../../core/db/database.ts';
import type { TurnBatch } from '../../../../core/db/store/append-turns.ts';
import { type Intake, runIntake } from '../../../../core/engine/intake/intake.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { openMetrics } from '../../../../core/metrics.ts';
import {
  capturedCall,
  chat,
  chatAnswer,
  recordedJournalCalls,
  requestId,
  takeIn,
} from '../../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { newFolder, silent } from '../../../support/journal-calls.ts';

const AT = '2026-11-21T09:00:00.000001Z';

function write(journal: Journal, { opened, request, responseHead: answered, response, closed }: JournalCall): void {
  const copy = journal.open({ ...opened, headers: redactHeaders(opened.headers.flat()) });
  assert.ok(copy);
  copy.requestBytes(request);
  if (answered) copy.responseHead({ ...answered, headers: redactHeaders(answered.headers.flat()) });
  if (answered) copy.responseBytes(response);
  if (closed) copy.close(closed);
}

const calls = (count: number): JournalCall[] =>
  Array.from({ length: count }, (_, n) =>
    capturedCall({
      n,
      request: chat(`word ${n}`),
      response: chatAnswer(`answer ${n}`),
      headers: [['x-svc-harness-session-id', `s${n % 5}`]],
    }),
  );

/** The `n`th call of a conversation that the provider keeps: it names the answer that it continues, and no session. */
const continuing = (n: number): JournalCall =>
  capturedCall({
    n,
    format: 'openai.responses',
    request: { model: 'gpt-5', input: `Question ${n}`, ...(n > 1 && { previous_response_id: `resp_${n - 1}` }) },
    response: JSON.stringify({
      ...{ id: `resp_${n}`, object: 'response', status: 'completed', model: 'gpt-5' },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `Answer ${n}` }] }],
    }),
  });

type Running = Intake & { freed: number; poked: number; stop(): Promise<void> };

/** Takes in what the folder holds, as the engine does; of the live run as far as it has been flushed. */
async function intakeOf(database: Database, folder: string, journal: Journal | null): Promise<Running> {
  const positions = await database.execute('journalPositions', {});
  const reader = openJournalReader({ folder, liveRunId: journal?.runId ?? null, positions, log: silent });
  const stopping = new AbortController();
  const seen = { freed: 0, poked: 0 };
  const intake = runIntake({
    identityKey: new Uint8Array(32),
    database,
    journal: reader,
    log: silent,
    metrics: openMetrics('engine'),
    signal: stopping.signal,
    stored: () => seen.poked++,
    freed: (bytes) => {
      seen.freed += bytes;
      journal?.recount();
    },
  });
  const deaf = journal?.onWritten((segment, byteOffset) => {
    reader.written(segment, byteOffset);
    intake.poke();
  });
  return Object.assign(seen, intake, {
    stop: async () => {
      deaf?.();
      stopping.abort();
      await intake.stopped;
      reader.close();
    },
  });
}

const journalIn = (folder: string, segmentBytes = 1_000_000) =>
  openJournal({ folder, maxBytes: 1e9, segmentBytes, log: silent });

/** The same database, but for one question. */
const withAsk = (
  database: Database,
  name: string,
  ask: (args: never, real: () => Promise<unknown>) => Promise<unknown>,
): Database => ({
  ...database,
  execute: ((question: string, args: never) => {
    const real = () => (database.execute as (question: string, args: never) => Promise<unknown>)(question, args);
    return question === name ? ask(args, real) : real();
  }) as Database['execute'],
});

async function ledger(database: TestDatabase): Promise<Record<string, number>> {
  const rows = await database.sql('select outcome, sum(requests)::int as n from svc.coverage group by 1 order by 1');
  return Object.fromEntries(rows.map(({ outcome, n }) => [String(outcome), Number(n)]));
}
const storedIds = async (database: TestDatabase) =>
  (await database.sql('select svc_proxy_request_id as id from svc.raw_turns order by 1')).map(({ id }) => id);

databaseSuite('intake', (test, database) => {
  test.before.each(() => database().reset());

  test('what is written comes in, once, over any number of starts', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder);
    const all = calls(300);
    for (const call of all.slice(0, 100)) write(journal, call);
    journal.recordOutcome({ at: AT, provider: 'openai', outcome: 'not_a_turn' });
    await journal.flush();
    const first = await intakeOf(database(), folder, journal);
    await first.drained();
    assert.is((await storedIds(database())).length, 100);
    for (const call of all.slice(100, 200)) write(journal, call);
    await journal.flush();
    await first.drained();
    await first.stop();
    for (const call of all.slice(200)) write(journal, call);
    await journal.flush();
    const second = await intakeOf(database(), folder, journal);
    await second.drained();
    await second.stop();
    await journal.close();
    assert.equal(
      await storedIds(database()),
      all.map(({ opened }) => opened.svc_proxy_request_id),
    );
    assert.equal(await ledger(database()), { captured: 300, not_a_turn: 1 });
    assert.ok(first.poked > 0 && second.poked > 0, 'derivation is told');
  });

  test('a call that continues one of the batch that is being stored belongs to its session', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder);
    const count = 300; // a batch has 256
    for (let n = 1; n <= count; n++) write(journal, continuing(n));
    await journal.flush();
    const slow = withAsk(database(), 'appendTurns', async (_args, real) => {
      await sleep(1_000); // the next batch is read by then
      return real();
    });
    const intake = await intakeOf(slow, folder, journal);
    await intake.drained();
    assert.equal(
      await database().sql('select count(*)::int as sessions, sum(turn_count)::int as turns from svc.sessions'),
      [{ sessions: 1, turns: count }],
    );
    const [nodes] = await database().sql(
      'select count(*)::int as messages, max(depth) as deepest, count(*) filter (where is_root)::int as roots from svc.nodes',
    );
    assert.equal(nodes, { messages: 2 * count, deepest: 2 * count - 1, roots: 1 });
    await intake.stop();
    await journal.close();
  });

  test('the recorded session comes through the journal as it was', async () => {
    const recorded = await recordedJournalCalls();
    if (!recorded) return;
    const folder = newFolder();
    const journal = await journalIn(folder);
    for (const call of recorded) write(journal, call);
    await journal.flush();
    const intake = await intakeOf(database(), folder, journal);
    await intake.drained();
    await intake.stop();
    await journal.close();
    const [session] = await database().sql('select harness_id, turn_count from svc.sessions');
    assert.equal(session, { harness_id: 'claude', turn_count: 9 });
    for (const [index, { request, response }] of recorded.entries()) {
      const bytes = await database().execute('rawTurnBytes', { raw_turn_id: index + 1 });
      assert.equal(Buffer.from(bytes?.request ?? []), Buffer.from(request));
      assert.equal(Buffer.from(bytes?.response ?? []), Buffer.from(response));
    }
  });

  test('what a dead process left comes in as partial or is counted, and its files go', async () => {
    const folder = newFolder();
    const dead = await journalIn(folder);
    const [whole, torn, unanswered, begun, big] = calls(5);
    assert.ok(whole && torn && unanswered && begun && big);
    write(dead, whole);
    write(dead, { ...torn, closed: null });
    write(dead, { ...unanswered, responseHead: null, closed: null });
    write(dead, { ...begun, request: begun.request.subarray(0, 9), responseHead: null, closed: null });
    write(dead, { ...big, closed: big.closed && { ...big.closed, over_limit: true } });
    await dead.close();
    for (let start = 0; start < 2; start++) {
      const intake = await intakeOf(database(), folder, null);
      await intake.drained();
      await intake.stop();
    }
    assert.equal(await ledger(database()), { captured: 1, crashed: 1, over_limit: 1, partial: 2 });
    const endings = await database().sql('select ending from svc.raw_turns order by svc_proxy_request_id');
    assert.equal(
      endings.map(({ ending }) => ending),
      ['complete', 'crashed', 'crashed'],
    );
    const [journal] = await database().sql('select finished from svc.journals');
    assert.is(journal?.finished, true);
  });

  test('read segments are deleted, and the writer learns how much', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder, 20_000);
    const intake = await intakeOf(database(), folder, journal);
    for (const call of calls(200)) {
      write(journal, call);
      await journal.flush();
    }
    await intake.drained();
    for (let i = 0; i < 200 && journal.bytes() > 60_000; i++) {
      await new Promise((done) => setTimeout(done, 50));
      intake.poke();
    }
    assert.ok(intake.freed > 50_000, `${intake.freed}`);
    assert.ok(journal.bytes() <= 60_000, `${journal.bytes()}`);
    await intake.stop();
    await journal.close();
    assert.equal(await ledger(database()), { captured: 200 });
  });

  test('while a backlog drains, an open call is carried forward and holds no segments', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder, 20_000);
    const [long] = calls(1) as [JournalCall];
    write(journal, { ...long, closed: null });
    for (let n = 0; n < 3_000; n++) {
      journal.recordOutcome({ at: AT, provider: 'openai', outcome: 'disabled' }); // a batch has 256
      if (n % 200 === 199) await journal.flush(); // a segment ends between two writes
    }
    const backlog = bytesOfRuns(folder);
    let left = backlog;
    const slow = withAsk(database(), 'appendTurns', async (_args, real) => {
      left = bytesOfRuns(folder);
      await sleep(500); // the embedded database deletes every two seconds
      return real();
    });
    const intake = await intakeOf(slow, folder, journal);
    await intake.drained();
    await intake.stop();
    await journal.close();
    assert.ok(left < backlog / 2, `${left} bytes of ${backlog} were there when the last batch was stored`);
    const rest = await intakeOf(database(), folder, null);
    await rest.drained();
    await rest.stop();
    assert.equal(await ledger(database()), { disabled: 3_000, partial: 1 });
  });

  test('while the disk does not give a segment it waits there, and goes on when it does', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder);
    for (const call of calls(3)) write(journal, call);
    await journal.flush();
    const [segment] = segmentsIn(folder, journal.runId);
    assert.ok(segment);
    renameSync(segment.path, `${segment.path}.whole`);
    symlinkSync('/proc/self/mem', segment.path); // a read of it is EIO
    const intake = await intakeOf(database(), folder, journal);
    await sleep(500);
    assert.equal(await ledger(database()), {});
    rmSync(segment.path);
    renameSync(`${segment.path}.whole`, segment.path);
    await intake.drained();
    await intake.stop();
    await journal.close();
    assert.equal(await ledger(database()), { captured: 3 });
  });

  test('while the database is away the journal holds, and nothing is doubled when it is back', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder);
    for (const call of calls(20)) write(journal, call);
    for (let i = 0; i < 3; i++) journal.recordOutcome({ at: AT, provider: 'openai', outcome: 'disabled' });
    await journal.flush();
    let attempts = 0;
    const flaky = withAsk(database(), 'appendTurns', async (_args, real) => {
      attempts++;
      if (attempts <= 2) throw new DatabaseError('Cannot ask: gone', '', true);
      if (attempts === 3) await real(); // stored, but the answer is lost
      if (attempts === 3) throw new DatabaseError('Cannot ask: gone again', '08006', true);
      return real();
    });
    const intake = await intakeOf(flaky, folder, journal);
    await intake.drained();
    await intake.stop();
    await journal.close();
    assert.is(attempts, 4);
    assert.equal(await ledger(database()), { captured: 20, disabled: 3 });
  });

  test('a turn that the database refuses goes aside with its bytes, and the rest goes on', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder);
    const all = calls(40);
    for (const call of all) write(journal, call);
    await journal.flush();
    const poison = new Set([requestId(7), requestId(8), requestId(39)]);
    const choosy = withAsk(database(), 'appendTurns', async ({ turns }: TurnBatch, real) => {
      if (turns.some((turn) => poison.has(turn.call_id)))
        throw new DatabaseError('Cannot run a statement: no', '22P02', false);
      return real();
    });
    const intake = await intakeOf(choosy, folder, journal);
    await intake.drained();
    await intake.stop();
    await journal.close();
    assert.equal(await ledger(database()), { captured: 37, poison: 3 });
    const parked = await database().sql(
      'select svc_proxy_request_id as id, request_body, reason from svc.parked_turns order by 1',
    );
    assert.equal(
      parked.map(({ id }) => id),
      [...poison],
    );
    assert.equal(Buffer.from(parked[0]?.request_body as Uint8Array), Buffer.from(all[7]?.request ?? []));

    const stillRefused = await intakeOf(choosy, folder, null);
    await stillRefused.drained();
    await stillRefused.stop();
    assert.equal(await ledger(database()), { captured: 37, poison: 3 });

    const mended = await intakeOf(database(), folder, null);
    await mended.drained();
    await mended.stop();
    assert.equal(await ledger(database()), { captured: 40 });
    assert.equal(await database().sql('select 1 from svc.parked_turns'), []);
    const turns = await database().sql(
      'select status, ending, response_bytes from svc.raw_turns where svc_proxy_request_id in ($1, $2, $3) order by svc_proxy_request_id',
      [...poison],
    );
    const { responseHead, response, closed } = all[7] as JournalCall;
    const expected = { status: responseHead?.status, ending: closed?.ending, response_bytes: response.byteLength };
    assert.equal(
      { ...turns[0], response_bytes: Number(turns[0]?.response_bytes), count: turns.length },
      { ...expected, count: 3 },
    );
  });

  test('what was set aside before a purge is not stored by itself', async () => {
    const [before, purged, after] = calls(3) as [JournalCall, JournalCall, JournalCall];
    const park = (call: JournalCall) => database().execute('parkTurn', { call, reason: 'test', position: null });
    await park(before);
    const [stored] = await takeIn(database(), [purged]);
    const session_id = stored?.session_id ?? '';
    const opened = await database().execute('openPurge', { session_id });
    await database().execute('deleteSession', { session_id });
    await database().execute('purgeSession', { session_id, up_to: opened?.up_to ?? 0, made: [], reason: 'test' });
    await park(after);
    const intake = await intakeOf(database(), newFolder(), null);
    await intake.drained();
    await intake.stop();
    const left = await database().sql('select svc_proxy_request_id as id from svc.parked_turns');
    const { svc_proxy_request_id: id } = before.opened;
    assert.is(await database().execute('parkedCall', { id }), null, 'nor where the purge came after it was listed');
    assert.equal(left, [{ id: before.opened.svc_proxy_request_id }]);
    assert.equal(await ledger(database()), { captured: 2, poison: 1 });
  });

  test('a fault that is nobody’s turn is waited out', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder);
    for (const call of calls(3)) write(journal, call);
    journal.recordOutcome({ at: AT, provider: 'openai', outcome: 'disabled' });
    await journal.flush();
    let refusals = 0;
    const broken = (name: string, database: Database, times: number) =>
      withAsk(database, name, async (_args, real) => {
        if (refusals++ < times)
          throw new DatabaseError('Cannot run a statement: relation does not exist', '42P01', false);
        return real();
      });
    const intake = await intakeOf(broken('parkTurn', broken('appendTurns', database(), 3), 5), folder, journal);
    await intake.drained();
    await intake.stop();
    await journal.close();
    const { captured = 0, poison = 0, disabled } = await ledger(database());
    assert.is(captured + poison, 3);
    assert.is(disabled, 1);
  });

  test('it stops while the database is away', async () => {
    const folder = newFolder();
    const journal = await journalIn(folder);
    for (const call of calls(3)) write(journal, call);
    await journal.flush();
    const away = withAsk(database(), 'appendTurns', async () => {
      throw new DatabaseError('Cannot ask: gone', '', true);
    });
    const intake = await intakeOf(away, folder, journal);
    await new Promise((done) => setTimeout(done, 150));
    await intake.stop();
    await journal.close();
    assert.equal(await ledger(database()), {});
  });
});
