/** Comparisons of the spans with the ledger: what the next one has to read, and what the last ones have seen. */
import type { Db, Env } from '../../core/cassette/contract.ts';
import { type Compared, type Comparison, sessionsSince, widened } from './changed-sessions.ts';
import type { Ledger } from './ledger.ts';
import type { SearchConfig } from './manifest.ts';
import { databaseOf, explained, relationsOf } from './relations.ts';

/** What is done about the differences: spans that are gone are deleted, new and changed ones are embedded, or all are only counted. */
export type Purpose = 'prune' | 'embed' | 'count';

/** Of each database, by settings and purpose. They are not stored, so that a process that starts compares all spans. */
const comparisons = new WeakMap<Db, Map<string, Compared>>();

const keyOf = (env: Env<SearchConfig>, purpose: Purpose) => `${purpose} ${JSON.stringify(env.CONFIG)}`;

export const lastComparison = (env: Env<SearchConfig>, purpose: Purpose): Compared | null =>
  comparisons.get(databaseOf(env))?.get(keyOf(env, purpose)) ?? null;

/** @param compared null: the next comparison is of all spans */
export function rememberComparison(env: Env<SearchConfig>, purpose: Purpose, compared: Compared | null): void {
  const db = databaseOf(env);
  const known = comparisons.get(db) ?? new Map<string, Compared>();
  comparisons.set(db, known);
  if (compared) known.set(keyOf(env, purpose), compared);
  else known.delete(keyOf(env, purpose));
}

/** Begins a comparison: first of all it reads what changed, so that whatever changes from here on is left to the next one. */
export async function beginComparison(env: Env<SearchConfig>, compared: Compared | null): Promise<Comparison> {
  const now = Date.now();
  const relations = relationsOf(env.CONFIG);
  if (relations.chosen) return { scope: null, settled: null, all_at: now }; // its changes are recorded nowhere
  return sessionsSince(databaseOf(env), compared, now).catch((error: unknown) => {
    throw explained(error, relations);
  });
}

/** The same with what the ledger itself has waiting: retries, and vectors of other models, after which nothing is known to be complete. */
export async function beginLedgerComparison(
  env: Env<SearchConfig>,
  ledger: Ledger,
  compared: Compared | null,
): Promise<Comparison> {
  const comparison = await beginComparison(env, compared);
  if (comparison.scope === null) return comparison;
  const { session_ids, others } = await ledger.waiting();
  const scope = others ? null : widened(comparison.scope, session_ids);
  return { ...comparison, scope, all_at: scope ? comparison.all_at : Date.now() };
}

/** The later one of two comparisons. */
export const later = (a: Compared | null, b: Compared | null): Compared | null =>
  a && b ? (BigInt(a.settled) < BigInt(b.settled) ? b : a) : (a ?? b);
