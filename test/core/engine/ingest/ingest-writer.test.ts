/** A turn is committed before its sender hears of it, and once for each request id, whoever else sends at the same time. */
import { v7 } from 'uuid';
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import type { Database } from '../../../../core/db/database.ts';
import type { TurnBatch } from '../../../../core/db/store/append-turns.ts';
import { type IngestWriter, openIngest } from '../../../../core/engine/ingest/ingest-writer.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import type { IngestVerdict } from '../../../../core/model/ingest.ts';
import { capturedCall, chat, chatAnswer, requestId, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { bodyOf, ingestBody, testIngest } from '../../../support/ingested-turns.ts';

type Execute = (name: string, args: unknown) => Promise<unknown>;

/** The database, with somebody between it and whoever asks. */
const between = (
  database: Database,
  ask: (name: string, args: unknown, next: Execute) => Promise<unknown>,
): Database => ({
  ...database,
  execute: ((name: string, args: unknown) =>
    ask(name, args, database.execute as unknown as Execute)) as Database['execute'],
});

const turn = (n: number, ...words: string[]) =>
  ingestBody(capturedCall({ n, request: chat(...words), response: chatAnswer(`answer ${n}`) }));
const lost = new DatabaseError('Cannot ask the database: the connection is lost', '', true);
const refused = new DatabaseError('Cannot run a statement: refused (23514)', '23514', false);
const callIds = (args: unknown) => (args as TurnBatch).turns.map(({ call_id }) => call_id);

function kept(verdict: IngestVerdict) {
  if (verdict.kind !== 'accepted' && verdict.kind !== 'unusable') throw new Error(`${verdict.kind}: ${verdict.error}`);
  return verdict;
}
const all = (ingest: IngestWriter, bodies: readonly Uint8Array[]) =>
  Promise.all(bodies.map((body) => ingest.append(body, null)));

const storedIds = async (database: TestDatabase) =>
  (await database.sql('select request_id from svc.raw_turns order by request_id')).map(({ request_id }) => request_id);

async function requestBytes(database: TestDatabase, raw_turn_id: number): Promise<string> {
  const bytes = await database.execute('rawTurnBytes', { raw_turn_id });
  return Buffer.from(bytes?.request ?? []).toString();
}

databaseSuite('ingest writer', (test, database) => {
  let ingest: IngestWriter;
  test.before.each(async () => {
    await database().reset();
    ingest = await testIngest(database());
  });

  test('one request id sent twenty times at once is one turn: one answer says so, nineteen that it was there', async () => {
    const verdicts = (await all(ingest, Array(20).fill(turn(1, 'Hello')))).map(kept);
    assert.equal(verdicts.map(({ deduped }) => deduped).sort(), [false, ...Array(19).fill(true)].sort());
    assert.is(new Set(verdicts.map(({ raw_turn_id, session_id }) => `${raw_turn_id} ${session_id}`)).size, 1);
    assert.equal(await storedIds(database()), [requestId(1)]);
    const [{ requests } = {}] = await database().sql('select sum(requests)::integer as requests from svc.coverage');
    assert.is(requests, 1, 'and one request in the ledger');
  });

  test('a request id is known for good, in another process too, and its first turn stays as it was', async () => {
    const [first] = (await all(ingest, [turn(1, 'Hello')])).map(kept);
    const other = await testIngest(database());
    const [again] = (await all(other, [turn(1, 'Something else')])).map(kept);
    assert.equal(again, { ...first, deduped: true });
    assert.is(await requestBytes(database(), first?.raw_turn_id ?? 0), JSON.stringify(chat('Hello')));
  });

  test('two processes that are sent the same turns at the same time store each of them once', async () => {
    const other = await testIngest(database());
    const bodies = Array.from({ length: 40 }, (_, n) => turn(n, `Question ${n}`));
    const [mine, theirs] = await Promise.all([all(ingest, bodies), all(other, [...bodies].reverse())]);
    const twice = [mine, theirs.reverse()].map((verdicts) => verdicts.map(kept));
    for (const n of bodies.keys()) {
      const both = twice.flatMap((verdicts) => verdicts[n] ?? []);
      assert.equal(both.map(({ deduped }) => deduped).sort(), [false, true], `turn ${n}`);
      assert.is(both[0]?.raw_turn_id, both[1]?.raw_turn_id);
    }
    assert.is((await storedIds(database())).length, bodies.length);
  });

  test('a turn without a request id is given one, and so is never taken for another', async () => {
    const body = () => bodyOf({ provider: 'openai', response: { message: { content: 'Hi' } } }, '{"messages":[]}');
    const verdicts = (await all(ingest, [body(), body()])).map(kept);
    assert.equal(
      verdicts.map(({ deduped }) => deduped),
      [false, false],
    );
    assert.equal(await storedIds(database()), verdicts.map(({ request_id }) => request_id).sort());
  });

  test('a call that the proxy has captured already is not taken in again under its id', async () => {
    const call = capturedCall({ n: 1, request: chat('Hello') });
    const [captured] = await takeIn(database(), [call]);
    const [verdict] = (await all(ingest, [ingestBody(call)])).map(kept);
    assert.equal([verdict?.deduped, verdict?.raw_turn_id], [true, captured?.raw_turn_id]);
  });

  test('turns that come at the same time share transactions', async () => {
    let batches = 0;
    const counted = between(database(), async (name, args, next) => {
      if (name === 'appendTurns') batches++;
      return next(name, args);
    });
    const writer = await testIngest(counted);
    await all(
      writer,
      Array.from({ length: 60 }, (_, n) => turn(n, `Question ${n}`)),
    );
    assert.is((await storedIds(database())).length, 60);
    assert.ok(batches <= 10, `${batches} transactions`);
  });

  test('one that the database refuses costs the others nothing, and no answer is left out', async () => {
    const strict = between(database(), async (name, args, next) => {
      if (name === 'appendTurns' && callIds(args).includes(requestId(3))) throw refused;
      return next(name, args);
    });
    const writer = await testIngest(strict);
    const ends = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => writer.append(turn(n, `${n}`), null)));
    assert.equal(
      ends.map(({ status }) => status),
      ends.map((_, n) => (n === 3 ? 'rejected' : 'fulfilled')),
    );
    assert.is((await storedIds(database())).length, 7);
    const [later] = (await all(ingest, [turn(3, '3')])).map(kept);
    assert.is(later?.deduped, false, 'nothing of it was kept');
  });

  test('while the database is away the sender is told to ask again, and nothing of the turn is kept', async () => {
    let away = true;
    const flaky = between(database(), async (name, args, next) => {
      if (away) throw lost;
      return next(name, args);
    });
    const { identity_key } = await database().execute('installation', {});
    const metrics = { intakeTurn: () => {}, notCaptured: () => {} };
    const identityKey = Buffer.from(identity_key, 'hex');
    const writer = openIngest({ database: flaky, reader: builtIn, identityKey, newId: v7, metrics });
    const error = 'Cannot keep the turn: the database is not available';
    assert.equal(await all(writer, [turn(1, 'Hello'), turn(2, 'Hi')]), Array(2).fill({ kind: 'unavailable', error }));
    assert.equal(await storedIds(database()), []);
    away = false;
    const again = (await all(writer, [turn(1, 'Hello'), turn(2, 'Hi')])).map(kept);
    assert.equal(
      again.map(({ deduped }) => deduped),
      [false, false],
    );
    assert.is(await requestBytes(database(), again[0]?.raw_turn_id ?? 0), JSON.stringify(chat('Hello')));
  });

  test('a turn whose commit was not heard of is found when its sender asks again', async () => {
    let deaf = true;
    const flaky = between(database(), async (name, args, next) => {
      const answer = await next(name, args);
      if (name === 'appendTurns' && deaf) throw lost;
      return answer;
    });
    const writer = await testIngest(flaky);
    const [first] = await all(writer, [turn(1, 'Hello')]);
    assert.is(first?.kind, 'unavailable');
    deaf = false;
    const [again] = (await all(writer, [turn(1, 'Hello')])).map(kept);
    assert.is(again?.deduped, true);
    assert.equal(await storedIds(database()), [requestId(1)]);
  });

  test('turns that are committed are accepted and published, though the database goes away before known ones are looked up', async () => {
    await all(ingest, [turn(1, 'Hello')]);
    const flaky = between(database(), async (name, args, next) => {
      if (name === 'storedCalls') throw lost;
      return next(name, args);
    });
    const seen = { turns: 0, committed: 0, nodes: 0 };
    const { identity_key } = await database().execute('installation', {});
    const writer = openIngest({
      database: flaky,
      reader: builtIn,
      identityKey: Buffer.from(identity_key, 'hex'),
      newId: v7,
      metrics: { intakeTurn: () => void seen.turns++, notCaptured: () => {} },
      committed: () => void seen.committed++,
      publish: (nodes) => {
        seen.nodes += nodes.length;
      },
    });
    const first = all(writer, [turn(2, 'one')]); // while it is stored, the next two wait together
    const [known, fresh] = await all(writer, [turn(1, 'Hello'), turn(3, 'Words that are new')]);
    assert.equal([known?.kind, fresh?.kind], ['unavailable', 'accepted']);
    assert.is((await first)[0]?.kind, 'accepted');
    assert.equal(await storedIds(database()), [1, 2, 3].map(requestId));
    assert.is(seen.turns, 2);
    assert.ok(seen.committed > 0 && seen.nodes >= 2, JSON.stringify(seen));
  });

  test('what came under a known request id leaves no gap in a later turn with the same bytes', async () => {
    await all(ingest, [turn(1, 'Hello')]);
    const [again] = (await all(ingest, [turn(1, 'Words that were never stored')])).map(kept);
    assert.is(again?.deduped, true);
    const [later] = (await all(ingest, [turn(2, 'Words that were never stored')])).map(kept);
    const bytes = await requestBytes(database(), later?.raw_turn_id ?? 0);
    assert.is(bytes, JSON.stringify(chat('Words that were never stored')));
  });

  test('a turn that nobody can read is kept, and every time it comes the sender is told why', async () => {
    const bodies: [Uint8Array<ArrayBuffer>, string][] = [
      [bodyOf({ provider: 'acme', meta: { request_id: 'provider' } }, '{}'), 'its provider is unknown'],
      [bodyOf({ provider: 'openai', meta: { request_id: 'request' } }, '[]'), 'its request is no JSON object'],
      [
        bodyOf({ provider: 'openai', meta: { request_id: 'none' } }, JSON.stringify(chat('Hi'))),
        'neither raw_response nor response gives an answer',
      ],
      [
        bodyOf({ provider: 'openai', meta: { request_id: 'noise' }, raw_response: 'AAAA' }, JSON.stringify(chat('Hi'))),
        'Cannot read a chat answer',
      ],
    ];
    for (const [body, why] of bodies) {
      const [first] = await all(ingest, [body]);
      if (first?.kind !== 'unusable') throw new Error(`it is ${first?.kind}`);
      assert.ok(first.error.includes(why), first.error);
      assert.is(first.deduped, false);
      assert.equal(await all(ingest, [body]), [{ ...first, deduped: true }]);
    }
    assert.equal(await storedIds(database()), ['noise', 'none', 'provider', 'request']);
    const outcomes = await database().sql(`select request_id from svc.raw_turns where outcome = 'captured'`);
    assert.equal(outcomes, []);
  });

  test('what is malformed is not kept', async () => {
    const [verdict] = await all(ingest, [Buffer.from('{"provider":"openai"}')]);
    assert.equal(verdict, { kind: 'malformed', error: 'Cannot read the turn: request is missing' });
    assert.equal(await storedIds(database()), []);
  });

  test('a failed call is a turn like others', async () => {
    const call = capturedCall({ n: 1, request: chat('Hi'), status: 529, response: '{"error":{"type":"overloaded"}}' });
    const [verdict] = await all(ingest, [ingestBody(call)]);
    assert.is(verdict?.kind, 'accepted');
  });

  test('what names the answer before it goes on in its session, out of the same batch and out of the log', async () => {
    const asks = (n: number, previous_response_id: string | null) =>
      bodyOf(
        {
          provider: 'openai',
          meta: { request_id: requestId(n) },
          response: { message: { role: 'assistant', content: `answer ${n}` }, extra: { id: `resp_${n}` } },
        },
        JSON.stringify({ model: 'gpt-5', input: `question ${n}`, previous_response_id }),
      );
    const [one, two] = (await all(ingest, [asks(1, null), asks(2, 'resp_1')])).map(kept);
    const [three] = (await all(await testIngest(database()), [asks(3, 'resp_2')])).map(kept);
    const rest = (await all(ingest, [asks(4, 'resp_3'), asks(5, 'resp_4'), asks(6, 'resp_5')])).map(kept);
    const [other] = (await all(ingest, [asks(7, null)])).map(kept);
    assert.equal(new Set([one, two, three, ...rest].map((turn) => turn?.session_id)).size, 1);
    assert.is.not(other?.session_id, one?.session_id);
  });

  test('idle waits for what is on its way, from its first byte on', async () => {
    const verdict = ingest.append(turn(1, 'Hello'), null);
    await ingest.idle();
    assert.equal(await storedIds(database()), [requestId(1)]);
    assert.is((await verdict).kind, 'accepted');
  });
});
