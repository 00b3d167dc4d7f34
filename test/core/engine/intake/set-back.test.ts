/** A database that has lost its last commits, as a standby may that takes over: what it lacks is read again, and stored once. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { unlinkSync } from 'node:fs';
import pino from 'pino';
import * as assert from 'uvu/assert';
import { type Journal, openJournal } from '../../../../core/capture/journal.ts';
import { segmentsIn } from '../../../../core/capture/journal-files.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { openJournalReader } from '../../../../core/capture/journal-reader.ts';
import { redactHeaders } from '../../../../core/capture/redact.ts';
import type { TurnBatch } from '../../../../core/db/store/append-turns.ts';
import { runIntake } from '../../../../core/engine/intake/intake.ts';
import { reportingReader } from '../../../../core/engine/intake/journal-age.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { openMetrics } from '../../../../core/metrics.ts';
import { sleepUntil } from '../../../../core/retry.ts';
import { capturedCall, chat, chatAnswer } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { newFolder, silent } from '../../../support/journal-calls.ts';

const AT = '2026-11-21T09:00:00.000001Z';
const WARNING =
  'the database has lost what was stored last, as a standby may that takes over: that much of the journal is read again';

type LogLine = { level: number; msg: string; bytes: number; runs: { lost: object | null }[] };

const call = (n: number): JournalCall =>
  capturedCall({
    ...{ n, request: chat(`word ${n} ${randomBytes(3_000).toString('base64')}`), response: chatAnswer(`answer ${n}`) },
    headers: [['x-svc-harness-session-id', `s${n % 3}`]],
  });

databaseSuite('a database that was set back', (test, database) => {
  const stops: (() => Promise<void>)[] = [];
  test.before.each(async () => {
    await database().reset();
    for (const name of TABLES) await database().sql(`drop table if exists public.mark_${name}`);
  });
  test.after.each(async () => {
    for (const stop of stops.splice(0)) await stop();
    for (const name of TABLES) await database().sql(`drop table if exists public.mark_${name}`);
  });

  const opened = async (segmentBytes = 1_000_000) => {
    const folder = newFolder();
    const journal = await openJournal({ folder, maxBytes: 1e9, segmentBytes, log: silent });
    const lines: LogLine[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const positions = await database().execute('journalPositions', {});
    const inner = openJournalReader({ folder, liveRunId: journal.runId, positions, log: silent });
    const reader = reportingReader(inner, journal.runId, () => {});
    const stopping = new AbortController();
    const metrics = openMetrics('engine');
    const intake = runIntake({
      ...{ database: database(), journal: reader, identityKey: new Uint8Array(32), log, metrics },
      signal: stopping.signal,
    });
    journal.onWritten((segment, byteOffset) => {
      reader.written(segment, byteOffset);
      intake.poke();
    });
    stops.push(async () => {
      stopping.abort();
      await intake.stopped;
      reader.close();
      await journal.close();
    });
    return { folder, journal, intake, lines };
  };
  const write = async (journal: Journal, from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const { opened, request, responseHead, response, closed } = call(n);
      const copy = journal.open({ ...opened, headers: redactHeaders(opened.headers.flat()) });
      copy?.requestBytes(request);
      if (responseHead) copy?.responseHead({ ...responseHead, headers: redactHeaders(responseHead.headers.flat()) });
      copy?.responseBytes(response);
      if (closed) copy?.close(closed);
    }
    journal.recordOutcome({ at: AT, provider: 'openai', outcome: 'not_a_turn' });
    await journal.flush();
  };

  /** The tables as they were: what a standby shows that has not got the commits since. */
  const TABLES = ['journals', 'coverage', 'sessions', 'raw_turns', 'nodes', 'calls'];
  const mark = async () => {
    for (const name of TABLES) await database().sql(`create table public.mark_${name} as select * from svc.${name}`);
  };
  const setBack = async () => {
    await database().sql(`
      do $$ begin
        perform set_config('svc.purge', 'on', true);
        delete from svc.derive_queue;
        delete from svc.nodes n
         where not exists (select from public.mark_nodes m where (m.session_id, m.node_hash) = (n.session_id, n.node_hash));
        delete from svc.calls c where not exists (select from public.mark_calls m where m.raw_turn_id = c.raw_turn_id);
        delete from svc.raw_turns t where not exists (select from public.mark_raw_turns m where m.raw_turn_id = t.raw_turn_id);
        update svc.sessions s set turn_count = 0, head_turn_hash = null;
        update svc.sessions s set turn_count = m.turn_count, head_turn_hash = m.head_turn_hash
          from public.mark_sessions m where m.session_id = s.session_id;
        delete from svc.coverage;
        insert into svc.coverage select * from public.mark_coverage;
        delete from svc.journals;
        insert into svc.journals select * from public.mark_journals;
      end $$`);
  };
  const counted = async () => {
    const rows = await database().sql(
      'select outcome, sum(requests)::int as n from svc.coverage group by 1 order by 1',
    );
    return Object.fromEntries(rows.map(({ outcome, n }) => [String(outcome), Number(n)]));
  };
  const stored = async () => {
    const rows = await database().sql('select svc_proxy_request_id as id from svc.raw_turns order by 1');
    return rows.map(({ id }) => String(id));
  };
  const ids = (to: number) => Array.from({ length: to }, (_, n) => call(n).opened.svc_proxy_request_id);

  for (const from of ['a later batch', 'the beginning'])
    test(`what it lacks from ${from} is read again before the next batch is stored, and each turn is stored once`, async () => {
      const { journal, intake, lines } = await opened();
      if (from === 'the beginning') await mark();
      await write(journal, 0, 3);
      await intake.drained();
      if (from !== 'the beginning') await mark();
      await write(journal, 3, 7);
      await intake.drained();
      assert.equal(await stored(), ids(7));
      await setBack();
      assert.is((await stored()).length, from === 'the beginning' ? 0 : 3);
      await write(journal, 7, 9);
      await intake.drained();
      assert.equal(await stored(), ids(9));
      assert.equal(await counted(), { captured: 9, not_a_turn: 3 });
      const [line, ...others] = lines;
      assert.equal([line?.level, line?.msg, others], [40, WARNING, []]);
      assert.ok(Number(line?.bytes) > 4 * 3_000, JSON.stringify(line));
      assert.is(line?.runs[0]?.lost, null);
      await write(journal, 9, 10);
      await intake.drained();
      assert.equal([await stored(), lines.length], [ids(10), 1], 'from then on as before');
    });

  test('turns that it still has are not stored again', async () => {
    const { journal, intake, lines } = await opened();
    await write(journal, 0, 5);
    await intake.drained();
    await database().sql('delete from svc.journals');
    await write(journal, 5, 6);
    await intake.drained();
    assert.equal([await stored(), lines.length], [ids(6), 1]);
  });

  test('segments that are gone are named', async () => {
    const { folder, journal, intake, lines } = await opened(10_000);
    await write(journal, 0, 12);
    await intake.drained();
    const [first] = segmentsIn(folder, journal.runId);
    if (first?.segment === 1) unlinkSync(first.path);
    await database().sql('delete from svc.journals');
    await write(journal, 12, 13);
    await intake.drained();
    const [run] = lines.find(({ msg }) => msg === WARNING)?.runs ?? [];
    assert.match(JSON.stringify(run?.lost), /^\{"first":1,"last":\d+\}$/);
    assert.equal(await stored(), ids(13));
  });

  test('no segment is deleted that a server lacks', async () => {
    if (database().kind === 'embedded') return;
    const { folder, journal, intake, lines } = await opened(10_000);
    await write(journal, 0, 2);
    await intake.drained();
    await mark();
    const real = database().execute;
    let isAllStored = false;
    let isSetBack = false;
    database().execute = (async (name: never, args: never, options: never) => {
      if (name === 'checkpoint' && !isAllStored) throw new DatabaseError('not yet', 'XX000', false);
      if (name === 'checkpoint' && !isSetBack) {
        isSetBack = true;
        await setBack();
      }
      return real(name, args, options);
    }) as typeof real;
    try {
      await write(journal, 2, 12);
      await intake.drained();
      isAllStored = true;
      await intake.drained();
      await intake.drained();
    } finally {
      database().execute = real;
    }
    assert.ok(isSetBack);
    const warnings = lines.filter(({ msg }) => msg === WARNING);
    assert.equal([await stored(), warnings.length], [ids(12), 1]);
    assert.is(warnings[0]?.runs[0]?.lost, null);
    assert.ok(segmentsIn(folder, journal.runId).length > 0);
  });

  test('a batch in flight, whose connection was cut, is not stored before what a server lacks', async () => {
    if (database().kind === 'embedded') return;
    const { journal, intake, lines } = await opened(10_000);
    const real = database().execute;
    const noticed = new AbortController();
    let isNext = false;
    const inFlight = new AbortController();
    const sentAgain = new AbortController();
    let isSetBack = false;
    database().execute = (async (name: never, args: never, options: never) => {
      if (name === 'checkpoint' && isNext) await sleepUntil(inFlight.signal, 500); // the batch's slices are compared first
      if (name === 'checkpoint' && !inFlight.signal.aborted) throw new DatabaseError('not yet', 'XX000', false);
      if (name === 'checkpoint' && !isSetBack) {
        isSetBack = true;
        await setBack();
        setTimeout(() => noticed.abort(), 300); // the positions are compared next: the deletion is the first to see the loss
      }
      if (name !== 'appendTurns' || !isNext) return real(name, args, options);
      if (!inFlight.signal.aborted) {
        inFlight.abort();
        await once(noticed.signal, 'abort');
        throw new DatabaseError('the connection was cut', '08006', true);
      }
      if ((args as TurnBatch).turns.length > 1) await sleepUntil(sentAgain.signal, 2_000); // what is read again is stored last
      try {
        return await real(name, args, options);
      } finally {
        sentAgain.abort();
      }
    }) as typeof real;
    try {
      await write(journal, 0, 2);
      await intake.drained();
      await mark();
      await write(journal, 2, 12);
      await intake.drained();
      isNext = true;
      await write(journal, 12, 13);
      await intake.drained();
    } finally {
      database().execute = real;
    }
    assert.ok(isSetBack);
    assert.equal(await stored(), ids(13));
    assert.equal(
      await counted(),
      { captured: 13, not_a_turn: 3 },
      'what was lost is counted again, as the batch is not ahead of it',
    );
    assert.is(lines.filter(({ msg }) => msg === WARNING).length, 1);
  });
});
