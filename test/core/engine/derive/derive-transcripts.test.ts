/** What a session that has transcripts alone saves when it is derived, and that it saves nothing that it needs. */
import * as assert from 'uvu/assert';
import { sessionId } from '../../../../core/call/identity.ts';
import { builtIn } from '../../../../core/call/reader.ts';
import { BATCH_ROWS } from '../../../../core/db/batches.ts';
import type { Database } from '../../../../core/db/database.ts';
import { deriveLeased, type LeasedDeps } from '../../../../core/engine/derive/derive-leased.ts';
import { deriveSession } from '../../../../core/engine/derive/derive-session.ts';
import { runDeriveWorker } from '../../../../core/engine/derive/derive-worker.ts';
import { openQueryRetry } from '../../../../core/engine/derive/query-retry.ts';
import { openPrecedence } from '../../../../core/engine/precedence.ts';
import { openLargeTranscripts } from '../../../../core/engine/transcript/large-transcripts.ts';
import {
  noReadings,
  openRecentReadings,
  type RecentReadings,
} from '../../../../core/engine/transcript/recent-readings.ts';
import { openUploads } from '../../../../core/engine/uploads.ts';
import { openLog } from '../../../../core/log.ts';
import { openBackoff } from '../../../../core/retry.ts';
import { takeIn } from '../../../support/captured-calls.ts';
import { wireCall } from '../../../support/claude-wire.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';
import { claudeChat } from '../../../support/transcript-records.ts';
import { inChain, SESSION, testTranscripts, upload } from '../../../support/transcript-uploads.ts';

databaseSuite('deriving transcripts', (test, database) => {
  test.before.each(() => database().reset());

  const session_id = sessionId(SESSION.harness_id, SESSION.harness_session_id);
  const uploaded = (questions: number, harness_session_id = SESSION.harness_session_id) =>
    upload(testTranscripts(database()), {
      session: { ...SESSION, harness_session_id },
      records: claudeChat(questions).map((record) => ({ ...record, sessionId: SESSION.harness_session_id })),
    });
  /** Derives what is due. @returns the names of the operations that it took */
  const derived = async (readings?: RecentReadings, commitTurns?: number): Promise<string[]> => {
    const names: string[] = [];
    const heard: Database = {
      ...database(),
      execute: ((name: string, args: never) => {
        names.push(name);
        return database().execute(name as 'ping', args);
      }) as Database['execute'],
    };
    for (;;) {
      const leases = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
      const [lease] = leases;
      if (!lease) return names;
      const { signal } = new AbortController();
      const options = { ...(readings && { readings }), ...(commitTurns && { commitTurns }) };
      await deriveSession({ database: heard, reader: builtIn, signal, ...options }, lease);
    }
  };
  const mainCalls = async () =>
    Number(
      (
        await database().sql(`select kind_counts ->> 'main' as n from svc.session_rollups where session_id = $1`, [
          session_id,
        ])
      )[0]?.n,
    );

  test('one message is a head, in however many statements the first ones are written, and when more come', async () => {
    const heads = async () => {
      const rows = await database().sql('select depth from svc.nodes where is_head');
      return rows.map(({ depth }) => depth);
    };
    const pairs = BATCH_ROWS / 2 + 1; // of a user's message and the response
    await uploaded(pairs);
    await derived();
    assert.equal(await heads(), [2 * pairs - 1]);
    await uploaded(pairs + 1);
    await derived();
    assert.equal(await heads(), [2 * pairs + 1]);
  });

  test('calls over the wire are looked for where there are some, also when they come later', async () => {
    await uploaded(3);
    assert.not((await derived()).includes('turnsToDerive'));
    assert.is(await mainCalls(), 3);
    await takeIn(database(), [wireCall(1, { words: ['Question 1'], answer: 'Another answer' })]);
    assert.ok((await derived()).includes('turnsToDerive'));
    assert.is(await mainCalls(), 1, 'the wire holds the conversation now');
  });

  test('of a transcript that grows only the parts are read that were not read before, and its rows are those of a first reading', async () => {
    const writer = testTranscripts(database());
    const records = claudeChat(40).map((record) => ({ ...record, sessionId: SESSION.harness_session_id }));
    const readings = openRecentReadings();
    const reads: number[] = [];
    for (const count of [20, 50, 58, 59, 60, 80]) {
      const parts = inChain({ records: records.slice(0, count) }, 10);
      await upload(writer, ...(count === 20 ? parts : parts.slice(-3)));
      reads.push((await derived(readings)).filter((name) => name === 'rawTurnBytes').length);
    }
    assert.equal(reads, [2, 5, 1, 1, 1, 2], 'the first reading is not remembered');
    const rows = async () => ({
      ...{ nodes: await database().sql('select * from svc.nodes order by node_hash') },
      ...{
        spans: await database().sql(
          'select trace_id, span_id, name, input, output, cost_usd from svc.spans order by 1, 2',
        ),
      },
      calls: await database().sql('select * from svc.transcript_calls order by call_id'),
    });
    const grown = await rows();
    assert.is(grown.calls.length, 40);
    await database().execute('markFromScratch', { session_id });
    await derived();
    assert.equal(await rows(), grown);
  });

  test('calls that a transcript has no longer leave nothing behind, also where the others take several commits', async () => {
    const rows = async () => ({
      spans: await database().sql('select trace_id, span_id, call_id, name from svc.spans order by 1, 2'),
      traces: await database().sql('select trace_id, user_prompt from svc.traces order by 1'),
    });
    await uploaded(60);
    await derived();
    const whole = await rows();
    const text = JSON.stringify(claudeChat(60)).replaceAll('"msg_41"', '"msg_of_another_run"');
    const records = (JSON.parse(text) as object[]).map((record) => ({
      ...record,
      sessionId: SESSION.harness_session_id,
    }));
    await upload(testTranscripts(database()), { session: SESSION, records });
    const names = await derived(undefined, 2);
    assert.ok(names.filter((name) => name === 'commitDerive').length > 1, names.join());
    const after = await rows();
    assert.is(after.spans.length, whole.spans.length, 'one call has another id');
    await database().execute('markFromScratch', { session_id });
    await derived();
    assert.equal(after, await rows());
  });

  test('large transcripts are derived one after another, and each in the end', async () => {
    await uploaded(3);
    await uploaded(3, 'another');
    const leases = await database().execute('leaseDirty', { limit: 2, background: false, lease_ms: 60_000 });
    const [first, second] = leases;
    if (!first || !second) throw new Error('Two sessions are due');
    const overtaken: Database = {
      ...database(),
      execute: (async (name: string, args: never) => {
        if (name === 'commitDerive') await deriveLeased(deps, second);
        return database().execute(name as 'ping', args);
      }) as Database['execute'],
    };
    const log = openLog('silent');
    const { signal } = new AbortController();
    const deps: LeasedDeps = {
      ...{ database: database(), reader: builtIn, log, signal, metrics: { derived: () => {} } },
      ...{ precedence: openPrecedence(database()), withRetry: openQueryRetry(log, signal) },
      outage: { began: false, backoff: openBackoff({ firstMs: 1, maxMs: 1 }) },
      largeTranscripts: openLargeTranscripts(database(), 1),
      readings: noReadings,
    };
    await deriveLeased({ ...deps, database: overtaken }, first);
    const queue = () =>
      database().sql(
        "select session_id, attempts, lease_token, try_after > now() as waits, try_after < now() + interval '6 s' as soon from svc.derive_queue",
      );
    const waiting = { session_id: second.session_id, attempts: 0, lease_token: null, waits: true, soon: true };
    assert.equal(await queue(), [waiting]);
    await database().sql('update svc.derive_queue set try_after = now()');
    await derived();
    assert.equal(await queue(), []);
    assert.is((await database().sql('select from svc.session_rollups')).length, 2);
  });

  test('a claim that nobody contests is settled as it is written; a copy of the file changes none of it', async () => {
    const claims = () =>
      database().sql(`
        select t.session_id, t.call_id, t.owner_session_id, t.owner_call_id, t.owner_turn_id, m.mark
          from svc.transcript_claims t left join svc.transcript_claim_marks m on m.session_id = t.session_id
         order by t.session_id, t.call_id`);
    await uploaded(3);
    await derived();
    const own = await claims();
    assert.is(own.length, 3);
    for (const claim of own) {
      assert.equal([claim.owner_session_id, claim.owner_turn_id, claim.mark], [session_id, null, 1]);
      assert.is(claim.owner_call_id, claim.call_id);
    }
    await uploaded(3, 'copy');
    await derived();
    const all = await claims();
    assert.equal(
      all.map(({ owner_session_id }) => owner_session_id),
      Array.from({ length: 6 }, () => session_id),
    );
    assert.equal(
      all.filter((claim) => claim.session_id === session_id),
      own,
    );
  });

  test('the worker leases nothing while an upload is under way', async () => {
    await uploaded(2);
    const uploads = openUploads();
    let end = () => {};
    const ended = new Promise<void>((done) => {
      end = done;
    });
    void uploads.storing(() => ended);
    const stopping = new AbortController();
    const worker = runDeriveWorker({
      ...{ database: database(), reader: builtIn, log: openLog('silent'), signal: stopping.signal, uploads },
      metrics: { derived: () => {}, derivePending: () => {} },
    });
    try {
      await new Promise((done) => setTimeout(done, 500));
      const [waiting] = await database().sql('select lease_token from svc.derive_queue');
      assert.equal(waiting, { lease_token: null });
      end();
      await eventually(async () => (await database().execute('derivePending', {})).queued === 0);
    } finally {
      stopping.abort();
      await worker.stopped;
    }
  });
});
