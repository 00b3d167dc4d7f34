/** Whose conversation a call that nobody names continues: its client is known by its digest, and by the key that version 0.1 gave it. */
import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import * as assert from 'uvu/assert';
import { completeTurn } from '../../../../core/call/complete-turn.ts';
import { callMemory } from '../../../../core/call/memory.ts';
import { clientDigest } from '../../../../core/capture/client-key.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { knownNodes } from '../../../../core/db/store/known-nodes.ts';
import { openCall } from '../../../../core/engine/intake/open-call.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';

const digestOf = (credential: string) => clientDigest({ credential, userAgent: '', project: '' });

/** The second call of a conversation, from a client as the journal has it. */
const continued = (client: Pick<JournalCall['opened'], 'client_key' | 'client_digest'>): JournalCall => {
  const call = capturedCall({ n: 2, request: chat('Hi', 'Hello', 'And?'), response: chatAnswer('Well') });
  return { ...call, opened: { ...call.opened, ...client } };
};

databaseSuite('the client of an unnamed call', (test, database) => {
  test.before.each(() => database().reset());

  const first = capturedCall({ n: 1, request: chat('Hi'), response: chatAnswer('Hello') }); // as version 0.1 wrote it
  const sessions = async () => (await database().sql('select session_id from svc.sessions')).length;

  test('a conversation of version 0.1 goes on, for the client that began it', async () => {
    await takeIn(database(), [first]);
    await takeIn(database(), [continued({ client_digest: digestOf('a'), client_key: first.opened.client_key })]);
    assert.is(await sessions(), 1);
  });

  test('and not for another one', async () => {
    await takeIn(database(), [first]);
    await takeIn(database(), [continued({ client_digest: digestOf('a'), client_key: 'ab'.repeat(32) })]);
    assert.is(await sessions(), 2);
  });

  test('with a digest alone, the same one is the same client', async () => {
    const opened = { ...first.opened, client_digest: digestOf('a'), client_key: '' };
    await takeIn(database(), [{ ...first, opened }]);
    await takeIn(database(), [continued({ client_digest: digestOf('a'), client_key: '' })]);
    assert.is(await sessions(), 1);
  });

  test('of ten thousand sessions with the same message those that came last are read', async () => {
    await takeIn(database(), [first]);
    await database().sql(`
      insert into svc.nodes (session_id, node_hash, raw_turn_id, call_id, position, depth, role, model, provider, agent_name, project,
                             stop_reason, is_root, is_head, requested_at, created_at)
      select gen_random_uuid(), n.node_hash, -i, 'like ' || i, 0, 1, 'assistant', '', '', '', '', '', false, i % 2 = 0, now(), now()
        from svc.nodes n, generate_series(1, 10000) i
       where n.role = 'assistant'`);
    const [lock, find] = await statementsFor(continued({ client_key: first.opened.client_key }));
    await database().sql(`
      create function plan_of(before text, statement text) returns json language plpgsql as $body$
      declare plan json;
      begin
        execute before;
        execute 'explain (analyze, format json) ' || statement into plan;
        return plan;
      end $body$`); // both in one transaction
    const [{ plan } = { plan: [] }] = await database().sql('select plan_of($1, $2) as plan', [lock, find]);
    await database().sql('drop function plan_of');
    const read = rowsOfNodes((plan as { Plan: Plan }[])[0]?.Plan);
    assert.ok(read > 0 && read <= 3 * (1_000 + 64), `${read} rows are read`); // of the first answer, and of what follows
    await takeIn(database(), [continued({ client_key: first.opened.client_key })]);
    assert.is(await sessions(), 1);
  });
});

/** What is read of the database to place a call, with the parameters in the text. */
async function statementsFor(call: JournalCall): Promise<string[]> {
  const memory = callMemory();
  const made = completeTurn(openCall(call, memory, new Uint8Array(32)), null, memory);
  if (made.kind !== 'turn') throw new Error('a chat is a turn');
  const statements: string[] = [];
  const refuse = () => Promise.reject(new Error('nothing is written'));
  const rows = (statement: SQL) => {
    const { sql, params } = new PgDialect().sqlToQuery(statement);
    statements.push(sql.replace(/\$(\d+)/g, (_, n) => `'${String(params[n - 1])}'`));
    return Promise.resolve([]);
  };
  await knownNodes({ kind: 'embedded', rows, transaction: refuse, script: refuse }, [made.turn]);
  return statements;
}

type Plan = { 'Relation Name'?: string; 'Actual Rows': number; 'Actual Loops': number; Plans?: Plan[] };

const rowsOfNodes = (plan: Plan | undefined): number =>
  plan === undefined
    ? 0
    : (plan['Relation Name'] === 'nodes' ? plan['Actual Rows'] * plan['Actual Loops'] : 0) +
      (plan.Plans ?? []).reduce((sum, part) => sum + rowsOfNodes(part), 0);
