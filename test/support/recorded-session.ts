/** Adds the recorded session to what a database has, derived. */
import { recordedJournalCalls, takeIn } from './captured-calls.ts';
import type { TestDatabase } from './databases.ts';
import { deriveAll } from './derive-all.ts';

/** @returns false, with a printed skip, where the fixtures are absent */
export async function recordedSession(database: TestDatabase): Promise<boolean> {
  const calls = await recordedJournalCalls();
  if (!calls) return false;
  await takeIn(database, calls);
  await deriveAll(database);
  return true;
}
