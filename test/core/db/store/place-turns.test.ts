/** What is asked of the database to find out to which session a turn belongs? No more than can decide. */
import { PgDialect } from 'drizzle-orm/pg-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeTurn } from '../../../../core/call/complete-turn.ts';
import { callMemory } from '../../../../core/call/memory.ts';
import type { Unplaced } from '../../../../core/call/placement.ts';
import type { Sql } from '../../../../core/db/sql.ts';
import { placeTurns } from '../../../../core/db/store/place-turns.ts';
import { openCall } from '../../../../core/engine/intake/open-call.ts';
import { capturedCall, chat, chatAnswer } from '../../../support/captured-calls.ts';

const test = suite('placeTurns');

/** The texts of its statements, over a database that knows nothing. */
async function statementsFor(turn: Unplaced): Promise<string[]> {
  const statements: string[] = [];
  const refuse = () => Promise.reject(new Error('turns are placed in the transaction that stores them'));
  const empty: Sql = {
    kind: 'embedded',
    rows: (statement) => {
      statements.push(new PgDialect().sqlToQuery(statement).sql);
      return Promise.resolve([]);
    },
    transaction: refuse,
    script: refuse,
  };
  await placeTurns(empty, [turn]);
  return statements;
}

function turnOf(...words: string[]): Unplaced {
  const call = capturedCall({ n: 1, request: chat(...words), response: chatAnswer('the answer that all of them get') });
  const memory = callMemory();
  const made = completeTurn(openCall(call, memory, new Uint8Array(32)), null, memory);
  if (made.kind !== 'turn') throw new Error('a chat is a turn');
  return made.turn;
}

test('a call without an answer in it looks for no messages of others but answers that requests brought along, however many have got its own', async () => {
  const messages = (statements: string[]) => statements.filter((text) => text.includes('svc.nodes'));
  const opening = messages(await statementsFor(turnOf('hi')));
  assert.equal(
    opening.map((text) => text.includes('h.slice_id is not null')),
    [true],
  );
  assert.is(messages(await statementsFor(turnOf('hi', 'well', 'more'))).length, 2);
});

test.run();
