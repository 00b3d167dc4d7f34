/** What nobody can read is kept, whoever sent it. When the reducer is mended, deriving again makes of it what it would have been. */
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { callMemory } from '../../../../core/call/memory.ts';
import { builtIn, type Reader } from '../../../../core/call/reader.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { runDeriveWorker } from '../../../../core/engine/derive/derive-worker.ts';
import { openLog } from '../../../../core/log.ts';
import { Unreadable, type WireFormat } from '../../../../core/provider/format.ts';
import { post, standIngest } from '../../../ingest/stand.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../../support/call-turn.ts';
import { recordedJournalCalls, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { generatedCalls } from '../../../support/generated-calls.ts';
import { ingestBody, testIngest } from '../../../support/ingested-turns.ts';
import type { Json } from '../../../support/read-api.ts';
import { journalCall } from '../../../support/stored-calls.ts';

const WHY = 'Cannot read an Anthropic answer: this is not the one we know';
const fails = () => {
  throw new Unreadable(WHY);
};
/** The formats as they are, but for what of Anthropic's is given. */
const reading = (broken: Partial<WireFormat>): Reader => ({
  ...builtIn,
  formatById: (id) => (id === 'anthropic.messages' ? { ...builtIn.formatById(id), ...broken } : builtIn.formatById(id)),
});

const says = [user('List the files')];
const used = answer('I look.', toolUse('t1', 'Bash', { command: 'ls' }));
const conversation: Call[] = [
  { at: 0, call_id: 'c1', says, answers: used },
  {
    at: 2,
    call_id: 'c2',
    says: [...says, assistant(...used.content), user(toolResult('t1', 'a b'))],
    answers: answer('Two files'),
  },
];
const refused: Call = { at: 9, call_id: 'c3', says: [user('And now?')], status: 529 };
const recorded = await recordedJournalCalls();
const generated = fc.sample(generatedCalls({ minLength: 6, maxLength: 20 }), { numRuns: 3, seed: 20_261_121 });

const plain = [...conversation, refused].map((call) => journalCall('plain', call));
/** Sessions that their harness names: where a conversation is told by its content alone, what cannot be read opens one of its own. */
const calls: JournalCall[] = [
  ...plain,
  ...generated.flatMap((some, i) =>
    some.map((call, n) => journalCall(`generated ${i}`, { ...call, call_id: `g${i}-${call.call_id ?? n}` })),
  ),
  ...(recorded ?? []),
];

const log = openLog('silent');
async function derive(database: TestDatabase, reader: Reader): Promise<void> {
  const stopping = new AbortController();
  const metrics = { derived: () => {}, derivePending: () => {} };
  const worker = runDeriveWorker({ database, reader, log, metrics, signal: stopping.signal, pollMs: 50 });
  await worker.drained();
  stopping.abort();
  await worker.stopped;
  assert.equal(await database.execute('derivePending', {}), { queued: 0, parked: 0, oldest_seconds: 0 });
}

const DERIVED = ['calls', 'nodes', 'session_rollups', 'traces', 'spans', 'span_links', 'derive_states'];
/** What a reading says of a turn, and what hangs on that or on the clock. */
const READ = ['outcome', 'meta', 'turn_hash', 'prev_hash', 'received_at'];

/** All that is derived, and the raw turns but for what their first reading said of them. */
async function dump(database: TestDatabase): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {};
  for (const table of DERIVED)
    rows[table] = (await database.sql(`select (to_jsonb(x) - 'rev')::text as row from svc.${table} x order by 1`)).map(
      ({ row }) => row,
    );
  const minus = READ.map((column) => ` - '${column}'`).join('');
  const turns = await database.sql(
    `select (to_jsonb(x)${minus})::text as row from svc.raw_turns x order by raw_turn_id`,
  );
  rows.raw_turns = turns.map(({ row }) => row);
  return rows;
}

const noFilter = { project: null, agent_name: null, model: null, provider: null, since: null, until: null };

/** The two ways in. Each takes the calls one by one, so that their numbers are the same whatever is read. */
const WAYS = {
  'the ingest API': async (database: TestDatabase, reader: Reader) => {
    const { append } = await testIngest(database, reader);
    const { app } = standIngest({ append });
    const answers: [number, Json][] = [];
    for (const call of calls) {
      const response = await post(app, ingestBody(call));
      answers.push([response.status, await response.json()]);
    }
    return answers;
  },
  'the journal': async (database: TestDatabase, reader: Reader) => {
    const memory = callMemory(reader);
    for (const call of calls) await takeIn(database, [call], memory);
    return [];
  },
};

const FAULTS = { answer: { reply: fails }, request: { message: fails } };

databaseSuite('a mended reducer', (test, database) => {
  test.before.each(() => database().reset());

  for (const [way, bring] of Object.entries(WAYS)) {
    for (const [fault, broken] of Object.entries(FAULTS))
      test(`turns of which nobody could read the ${fault} are recovered: those that came through ${way}`, async () => {
        await bring(database(), builtIn);
        await derive(database(), builtIn);
        const right = await dump(database());
        const stats = await database().execute('readStats', noFilter);
        const report = await database().execute('deriveReport', { session_id: null });
        assert.ok((right.nodes?.length ?? 0) > 30 && stats.output_tokens > 0, 'there is something to compare');
        await database().reset();

        const reader = reading(broken);
        await bring(database(), reader);
        await derive(database(), reader);
        const wrong = await dump(database());
        assert.equal(wrong.raw_turns, right.raw_turns, 'the log is the same');
        assert.is.not(wrong.spans?.join(), right.spans?.join());
        assert.is((await database().execute('readStats', noFilter)).output_tokens, 0);

        await database().execute('markFromScratch', { session_id: null });
        await derive(database(), builtIn);
        const mended = await dump(database());
        for (const [table, rows] of Object.entries(right)) assert.equal(mended[table], rows, table);
        assert.equal(await database().execute('readStats', noFilter), stats);
        assert.equal(await database().execute('deriveReport', { session_id: null }), report);

        await database().execute('markFromScratch', { session_id: null });
        await derive(database(), reader);
        const broke = await dump(database());
        for (const [table, rows] of Object.entries(wrong)) assert.equal(broke[table], rows, `broken again: ${table}`);
      });
  }

  test('an answer that cannot be read: 422 and kept, marked, partial, without a word of it in the stats', async () => {
    const ingest = await testIngest(database(), reading(FAULTS.answer));
    const { app } = standIngest({ append: ingest.append });
    const answers: [number, Json][] = [];
    for (const call of plain) {
      const response = await post(app, ingestBody(call));
      answers.push([response.status, await response.json()]);
    }
    assert.equal(
      answers.slice(0, 2),
      [1, 2].map((n) => [422, { error: `${WHY} (kept as raw turn ${n})` }]),
    );
    assert.is(answers[2]?.[0], 202, 'a failed call has no answer to be read');
    const turns = await database().sql('select outcome, meta from svc.raw_turns order by raw_turn_id');
    assert.equal(
      turns.map(({ outcome, meta }) => [outcome, (meta as Json).answer_unreadable]),
      [
        ['undecodable', WHY],
        ['undecodable', WHY],
        ['captured', WHY],
      ],
    );
    await derive(database(), reading(FAULTS.answer));
    assert.equal(await statuses(database()), ['partial undecodable', 'partial undecodable', 'error overloaded_error']);
    const stats = await database().execute('readStats', noFilter);
    const { session_count, completed_count, input_tokens, output_tokens, total_cost } = stats;
    assert.equal([session_count, completed_count, input_tokens, output_tokens, total_cost], [1, 0, 0, 0, 0]);
    const [report] = [await database().execute('deriveReport', { session_id: null })];
    assert.equal([report.raw_turns, report.parsed_turns, report.raw_only_turns], [3, 0, 3]);
  });

  test('a request that cannot be read: 422 and kept, marked, partial, and nothing of it in the stats', async () => {
    const ingest = await testIngest(database(), reading(FAULTS.request));
    const { app } = standIngest({ append: ingest.append });
    for (const [n, call] of plain.entries()) {
      const response = await post(app, ingestBody(call));
      const error = `${WHY} (kept as raw turn ${n + 1})`;
      assert.equal([response.status, await response.json()], [422, { error }]);
    }
    const turns = await database().sql('select outcome, meta from svc.raw_turns');
    assert.equal(
      turns.map(({ outcome, meta }) => [outcome, (meta as Json).request_unreadable]),
      turns.map(() => ['undecodable', WHY]),
    );
    await derive(database(), reading(FAULTS.request));
    const [one, two, three] = await statuses(database());
    assert.equal([one, two, three], ['partial undecodable', 'partial undecodable', 'error overloaded_error']);
    const stats = await database().execute('readStats', noFilter);
    assert.equal([stats.session_count, stats.turn_count, stats.root_count, stats.total_cost], [0, 0, 0, 0]);
    const { parse_failures } = await database().execute('deriveReport', { session_id: null });
    assert.equal(
      parse_failures,
      [3, 2, 1].map((raw_turn_id) => ({ raw_turn_id, reason: WHY })),
    );
  });

  test('what a sender sends again after the reducer is mended stays one turn, and is accepted now', async () => {
    const [call] = plain;
    if (!call) throw new Error('there is no call');
    const before = await (await testIngest(database(), reading(FAULTS.answer))).append(ingestBody(call), null);
    const after = await (await testIngest(database())).append(ingestBody(call), null);
    assert.equal([before.kind, after.kind], ['unusable', 'accepted']);
    if (after.kind !== 'accepted') return;
    assert.equal([after.raw_turn_id, after.deduped], [1, true]);
  });

  test('a session is marked alone where one is asked for', async () => {
    const reader = reading(FAULTS.answer);
    const other = conversation.map((call) => journalCall('other', { ...call, call_id: `other ${call.call_id}` }));
    const memory = callMemory(reader);
    await takeIn(database(), [...plain, ...other], memory);
    await derive(database(), reader);
    const [row] = await database().sql(`select session_id from svc.sessions where harness_session_id = 'other'`);
    const session_id = String(row?.session_id);
    assert.is((await database().execute('markFromScratch', { session_id })).sessions, 1);
    await derive(database(), builtIn);
    const answers = await database().sql(
      `select distinct session_id from svc.nodes where role = 'assistant' and output_tokens > 0`,
    );
    assert.equal(answers, [{ session_id }]);
  });
});

/** Of the model's calls, in their order. */
const statuses = async (database: TestDatabase) =>
  (
    await database.sql(
      `select status || ' ' || error_type as outcome from svc.spans where kind = 'llm' order by started_at, span_id`,
    )
  ).map(({ outcome }) => outcome);
