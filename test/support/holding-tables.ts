/** Tables of a cassette, each of which refuses to delete the rows of a session, by another kind of constraint. */
import type { TestDatabase } from './databases.ts';

/** A deletion from each of the tables `held_…` is refused while a row of its `by_…` names the session. */
export const HOLDING_TABLES = `
  create table held_restrict (session_id uuid primary key);
  create table by_restrict (held uuid references held_restrict on delete restrict);
  create table held_not_null (session_id uuid primary key);
  create table by_not_null (held uuid not null references held_not_null on delete set null);
  create table held_check (session_id uuid primary key);
  create table by_check (held uuid references held_check on delete set null, check (held is not null));
  create table held_later (session_id uuid primary key);
  create table by_later (held uuid references held_later deferrable initially deferred);`;

const NAMES = ['restrict', 'not_null', 'check', 'later'];

/** Puts a row of the session into each of the tables of a cassette. */
export async function fillHoldingTables(database: TestDatabase, cassette: string, session_id: string): Promise<void> {
  for (const name of NAMES) {
    await database.sql(`insert into cassette_${cassette}.held_${name} values ('${session_id}')`);
    await database.sql(`insert into cassette_${cassette}.by_${name} values ('${session_id}')`);
  }
}

/** How many rows each of the tables `held_…` has. */
export async function heldRows(database: TestDatabase, cassette: string): Promise<number[]> {
  const counts: number[] = [];
  for (const name of NAMES)
    counts.push((await database.sql(`select 1 as one from cassette_${cassette}.held_${name}`)).length);
  return counts;
}
