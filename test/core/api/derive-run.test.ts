/** POST /v1/admin/derive/run makes everything derived anew from the raw turns, beside whatever comes in meanwhile. */
import * as assert from 'uvu/assert';
import { readContract } from '../../../core/api/app.ts';
import { builtIn, type Reader } from '../../../core/call/reader.ts';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import type { Database } from '../../../core/db/database.ts';
import { type DeriveWorker, runDeriveWorker } from '../../../core/engine/derive/derive-worker.ts';
import { openLog } from '../../../core/log.ts';
import { DeriveReport } from '../../../core/model/derive-report.ts';
import type { IngestVerdict } from '../../../core/model/ingest.ts';
import { Problem } from '../../../core/model/problem.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../support/call-turn.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { bodyOf, ingestBody, testIngest } from '../../support/ingested-turns.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

const PATH = '/v1/admin/derive/run';
const log = openLog('silent');
const metrics = { derived: () => {}, derivePending: () => {} };

const says = [user('List the files')];
const used = answer('I look.', toolUse('t1', 'Bash', { command: 'ls' }));
/** Two calls of the model, one tool, one trace. */
const listing = (id: string): Call[] => [
  { at: 0, call_id: `${id}1`, says, answers: used },
  {
    at: 2,
    call_id: `${id}2`,
    says: [...says, assistant(...used.content), user(toolResult('t1', 'a b'))],
    answers: answer('Two files'),
  },
];

/** The database, with somebody who acts before each question is asked. */
const before = (database: Database, act: (name: string, args: unknown) => Promise<void>): Database => ({
  ...database,
  execute: (async (name, args) => {
    await act(name, args);
    return database.execute(name, args);
  }) as Database['execute'],
});

async function working<T>(
  database: Database,
  work: (worker: DeriveWorker) => Promise<T>,
  reader: Reader = builtIn,
): Promise<T> {
  const stopping = new AbortController();
  const worker = runDeriveWorker({ database, reader, log, metrics, signal: stopping.signal, pollMs: 50 });
  try {
    return await work(worker);
  } finally {
    stopping.abort();
    await worker.stopped;
  }
}

const DERIVED = ['calls', 'nodes', 'session_rollups', 'traces', 'spans', 'span_links', 'derive_states'];

/** Without revisions, which count the commits. */
async function dump(database: TestDatabase): Promise<string[]> {
  const rows: string[] = [];
  for (const table of DERIVED) {
    const found = await database.sql(`select (to_jsonb(x) - 'rev')::text as row from svc.${table} x order by 1`);
    rows.push(...found.map(({ row }) => `${table} ${row}`));
  }
  return rows;
}

/** What a worker asks while it reads a session again and derives it, in this order. */
const MOMENTS = [
  ...['leaseDirty', 'turnsToRead', 'turnParts', 'replaceNodes'],
  ...['deriveState', 'turnsToDerive', 'commitDerive'],
];

/** Everything is derived anew, and at each moment of it something comes in. */
async function rebuiltWhile(database: TestDatabase, comesIn: () => Promise<void>): Promise<void> {
  let at = 0;
  const busy = before(database, async (name) => {
    if (name !== MOMENTS[at]) return;
    at++;
    await comesIn();
  });
  await database.execute('markFromScratch', { session_id: null });
  await working(busy, (worker) => worker.drained());
  assert.is(at, MOMENTS.length, 'each moment came');
}

/** Conversations without a name, each a function that takes in the next call and tells where it went. */
const CHATS: Record<string, (database: TestDatabase) => Promise<() => Promise<string>>> = {
  'captured by the proxy': async (database) => {
    const next = conversation();
    return async () => (await takeIn(database, [next()]))[0]?.session_id ?? '';
  },
  'ingested, told by its messages': async (database) => {
    const ingest = await testIngest(database);
    const next = conversation();
    return async () => placeOf(await ingest.append(ingestBody(next()), null));
  },
  'ingested, told by the answer before': async (database) => {
    const ingest = await testIngest(database);
    let n = 0;
    return async () => {
      const previous_response_id = n === 0 ? null : `resp_${n}`;
      n++;
      const response = { message: { role: 'assistant', content: `Answer ${n}` }, extra: { id: `resp_${n}` } };
      const asks = { model: 'gpt-5', input: `Question ${n}`, previous_response_id };
      return placeOf(await ingest.append(bodyOf({ provider: 'openai', response }, JSON.stringify(asks)), null));
    };
  },
};

/** One chat's calls, each with all that was said before. */
function conversation(): () => JournalCall {
  const words = ['Hello'];
  let n = 0;
  return () => {
    const call = capturedCall({ n, request: chat(...words), response: chatAnswer(`Answer ${n}`) });
    words.push(`Answer ${n}`, `Question ${n}`);
    n++;
    return call;
  };
}

const placeOf = (verdict: IngestVerdict): string =>
  verdict.kind === 'accepted' ? verdict.session_id : `${verdict.kind}: it has no place`;

/** Of sessions without calls beside the conversation, and without transcripts. */
const nothingBeside = {
  ...{ judged_actions: 0, attached_verdicts: 0, unattached_actions: [], web_summaries_attached: 0, plans_attached: 0 },
  reconcile: {
    transcript_files: 0,
    subagent_forks: 0,
    threads_anchored: 0,
    threads_unanchored: 0,
    interacted_rows: 0,
  },
  transcript_projection: {
    files: 0,
    records: 0,
    projected_records: 0,
    omitted_records: 0,
    omitted_types: {},
    suppressed_by_wire: 0,
  },
};

databaseSuite('POST /v1/admin/derive/run', (test, database) => {
  test.before.each(() => database().reset());

  const post = (body?: string, type = 'application/json', execute: Database['execute'] = database().execute) =>
    testApi({ execute }).request(PATH, {
      method: 'POST',
      ...(body !== undefined && { body, headers: { 'content-type': type } }),
    });
  const run = async (body?: string): Promise<DeriveReport> => {
    const response = await post(body);
    assert.is(response.status, 200, await response.clone().text());
    return DeriveReport.strict().parse(await response.json());
  };
  const sessionsOf = (calls: readonly Call[], name: string) =>
    storeCalls(
      database(),
      calls.map((call) => journalCall(name, call)),
    );
  const stateOf = async (session_id: string) =>
    (
      await database().sql(
        'select from_scratch, parked_at, attempts, error from svc.derive_queue where session_id = $1',
        [session_id],
      )
    )[0];

  test('nothing is there: nothing is done', async () => {
    const none = { raw_turns: 0, parsed_turns: 0, raw_only_turns: 0, nodes: 0, traces: 0, spans: 0 };
    assert.equal(await run(), {
      ...{ sessions: 0, pending: 0, parked: 0, ...none },
      ...{ parse_failures: [], call_kinds: {}, node_kinds: {} },
      ...nothingBeside,
    });
  });

  test('the report: what was read, what could not be, and what has come of it', async () => {
    await sessionsOf(listing('a'), 'one');
    await takeIn(database(), [
      capturedCall({ n: 1, request: chat('Hello') }),
      capturedCall({ n: 2, request: { messages: [{ role: 'nobody' }] } }),
      capturedCall({ n: 3, request: chat('Too much'), status: 529, response: '{"error":{"message":"no"}}' }),
    ]);
    await working(database(), async () => {
      assert.equal(await run(), {
        ...{ sessions: 4, pending: 0, parked: 0 },
        ...{ raw_turns: 5, parsed_turns: 3, raw_only_turns: 2 },
        parse_failures: [{ raw_turn_id: 4, reason: 'Cannot read a chat message: its role is unknown' }],
        nodes: 4 + 2 + 1,
        ...{ traces: 4, spans: 4 + 2 + 2 + 2 }, // an agent each; two calls and a tool, and a call each
        call_kinds: { main: 5 },
        node_kinds: { assistant: 3, user: 4 },
        ...nothingBeside,
      });
    });
  });

  test('the newest twenty requests that cannot be read are named, the newest first', async () => {
    const unreadable = (_: unknown, n: number) =>
      capturedCall({ n, request: { messages: [{ role: 'nobody' }] }, client: `${n}` });
    await takeIn(database(), Array.from({ length: 23 }, unreadable));
    const { parse_failures, raw_only_turns } = await working(database(), () => run());
    assert.equal(
      parse_failures.map(({ raw_turn_id }) => raw_turn_id),
      Array.from({ length: 20 }, (_, n) => 23 - n),
    );
    assert.is(raw_only_turns, 23);
  });

  test('everything derived is made again as it was, and the raw turns stay as they are', async () => {
    await sessionsOf(listing('a'), 'one');
    await sessionsOf(listing('b'), 'two');
    const turns = () => database().sql('select to_jsonb(t)::text as row from svc.raw_turns t order by 1');
    const before = await turns();
    await working(database(), async (worker) => {
      await worker.drained();
      const first = await dump(database());
      assert.ok(first.length > 20);
      await database().sql(`update svc.spans set name = 'wrong', input = '[]'`);
      await database().sql('delete from svc.nodes');
      await run();
      assert.equal(await dump(database()), first);
      await database().sql(`truncate ${DERIVED.map((table) => `svc.${table}`).join(', ')}`);
      await run('{}');
      assert.equal(await dump(database()), first);
    });
    assert.equal(await turns(), before);
  });

  test('one session alone, where one is named', async () => {
    const [one = ''] = await sessionsOf(listing('a'), 'one');
    const [two = ''] = await sessionsOf(listing('b'), 'two');
    await working(database(), async (worker) => {
      await worker.drained();
      await database().sql(`update svc.spans set name = 'wrong'`);
      const report = await run(JSON.stringify({ session_id: one }));
      assert.equal([report.sessions, report.raw_turns, report.traces, report.spans, report.nodes], [1, 2, 1, 4, 4]);
      assert.equal([report.call_kinds, report.node_kinds], [{ main: 2 }, { assistant: 2, user: 2 }]);
    });
    const wrong = await database().sql(`select distinct session_id from svc.spans where name = 'wrong'`);
    assert.equal(wrong, [{ session_id: two }]);
  });

  test('a session that is not there, or was deleted, is 404, and nothing is marked', async () => {
    const [session_id = ''] = await sessionsOf(listing('a'), 'one');
    await working(database(), (worker) => worker.drained());
    await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1::uuid, now())', [
      session_id,
    ]);
    for (const id of [session_id, '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10']) {
      const response = await post(JSON.stringify({ session_id: id }));
      assert.is(response.status, 404, id);
      assert.is(Problem.parse(await response.json()).status, 404);
    }
    assert.is(await stateOf(session_id), undefined);
  });

  test('a body that is no such object is 400, one that is no JSON by its type is 415, a large one 413', async () => {
    await sessionsOf(listing('a'), 'one');
    await working(database(), (worker) => worker.drained());
    const large = JSON.stringify({ session_id: 'x'.repeat(5_000) });
    for (const [status, body, type] of [
      [400, '{"session_id":"no uuid"}', 'application/json'],
      [400, '{"session_id":null}', 'application/json'],
      [400, '{"session":"7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10"}', 'application/json'],
      [400, '[]', 'application/json'],
      [400, '{"session_id":', 'application/json'],
      [415, '{}', 'text/plain'],
      [415, 'session_id=1', 'application/x-www-form-urlencoded'],
      [413, large, 'application/json'],
    ] as const) {
      const response = await post(body, type);
      assert.is(response.status, status, `${type} ${body.slice(0, 60)}`);
      assert.is(Problem.parse(await response.json()).status, status);
    }
    const [queue] = await database().sql('select count(*)::integer as marked from svc.derive_queue');
    assert.equal(queue, { marked: 0 }, 'nothing was begun');
    const refused = await testApi({ execute: database().execute }).request(PATH);
    assert.equal([refused.status, refused.headers.get('allow')], [405, 'POST']);
  });

  test('no body at all means everything, with and without a content type', async () => {
    await sessionsOf(listing('a'), 'one');
    await working(database(), async () => {
      for (const body of [undefined, '', ' \n', '{}']) assert.is((await run(body)).sessions, 1);
    });
  });

  test('its contract names every answer', () => {
    const { requestBody, responses } = (readContract('0') as Json).paths[PATH].post;
    assert.is(requestBody.required, false);
    assert.equal(Object.keys(responses), [
      '200',
      '202',
      '400',
      '401',
      '403',
      '404',
      '408',
      '413',
      '415',
      '431',
      '500',
      '503',
    ]);
  });

  test('a session that was parked is tried again', async () => {
    const [session_id = ''] = await sessionsOf(listing('a'), 'one');
    await database().sql(`update svc.derive_queue set parked_at = now(), attempts = 8, error = 'TypeError'`);
    await working(database(), async (worker) => {
      await worker.drained();
      assert.is((await stateOf(session_id))?.error, 'TypeError', 'nobody tries it by himself');
      const { pending, parked, traces } = await run();
      assert.equal([pending, parked, traces], [0, 0, 1]);
    });
    assert.is(await stateOf(session_id), undefined);
  });

  test('one that fails again is told as such, holds up no other, and what was derived of it stays', async () => {
    const [bad = ''] = await sessionsOf(listing('a'), 'one');
    await sessionsOf(listing('b'), 'two');
    await working(database(), (worker) => worker.drained());
    const derived = await dump(database());
    const failing = before(database(), async (name, args) => {
      if (name === 'turnsToRead' && (args as { session_id: string }).session_id === bad) throw new TypeError('no');
    });
    const impatient = before(database(), async (name) => {
      // Eight attempts take minutes: the clock is put forward instead.
      if (name === 'markedPending') await database().sql('update svc.derive_queue set try_after = now()');
    });
    await working(failing, async () => {
      const response = await post('{}', 'application/json', impatient.execute);
      const { sessions, pending, parked } = DeriveReport.parse(await response.json());
      assert.equal([response.status, sessions, pending, parked], [200, 2, 0, 1]);
    });
    const state = await stateOf(bad);
    assert.equal([state?.from_scratch, state?.attempts, state?.error], [true, 8, 'TypeError']);
    assert.equal(await dump(database()), derived);
  });

  test('who is at work on a session when it is marked loses it, and what he commits does not count', async () => {
    const [session_id = ''] = await sessionsOf(listing('a'), 'one');
    let marked = false;
    const interrupted = before(database(), async (name) => {
      if (name !== 'commitDerive' || marked) return;
      marked = true;
      await database().execute('markFromScratch', { session_id: null });
    });
    await working(interrupted, () => eventually(async () => marked && (await stateOf(session_id)) === undefined));
    const first = await dump(database());
    await working(database(), () => run());
    assert.equal(await dump(database()), first);
  });

  test('turns that come in at any moment of a run are in what it ends with', async () => {
    const late = MOMENTS.map(
      (_, n): Call => ({ at: 10 + n, call_id: `z${n}`, says: [user(`Late ${n}`)], answers: answer('Ok') }),
    );
    await sessionsOf(listing('a'), 'one');
    await working(database(), (worker) => worker.drained());
    const waiting = [...late];
    await rebuiltWhile(database(), async () => {
      const call = waiting.shift();
      if (call) await sessionsOf([call], 'one');
    });
    const found = await dump(database());
    const [llm] = await database().sql(`select count(*)::integer as spans from svc.spans where kind = 'llm'`);
    assert.equal(llm, { spans: 2 + late.length });
    await database().sql(`truncate ${DERIVED.map((table) => `svc.${table}`).join(', ')}`);
    await working(database(), () => run());
    assert.equal(await dump(database()), found);
  });

  for (const [kind, chat] of Object.entries(CHATS))
    test(`a conversation that nobody names goes on in its session at any moment of a run: ${kind}`, async () => {
      const goOn = await chat(database());
      const session_id = await goOn();
      const others: string[] = [await goOn()];
      await working(database(), (worker) => worker.drained());
      await rebuiltWhile(database(), async () => void others.push(await goOn()));
      others.push(await goOn());
      assert.equal(
        others,
        others.map(() => session_id),
      );
      await working(database(), () => run());
      const sessions = await database().sql('select session_id, turn_count from svc.sessions');
      assert.equal(sessions, [{ session_id, turn_count: 1 + others.length }]);
      const [{ calls } = {}] = await database().sql(
        `select count(*)::integer as calls from svc.spans where kind = 'llm'`,
      );
      assert.is(calls, 1 + others.length);
    });
});
