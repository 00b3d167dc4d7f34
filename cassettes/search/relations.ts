/** The relations that search reads, and the error when one of them is missing. */
import type { Db, Env } from '../../core/cassette/contract.ts';
import type { SearchConfig } from './manifest.ts';

export type Relations = {
  /** Names, quoted for a statement. */
  spans: string;
  turns: string;
  /** Whether at least one is not the relation that the manifest was granted. */
  chosen: boolean;
};

export const relationsOf = ({ spans_table, span_turns_table }: SearchConfig): Relations => ({
  spans: quoted(spans_table),
  turns: quoted(span_turns_table),
  chosen: spans_table !== 'svc_v1.spans' || span_turns_table !== 'svc_v1.span_turns',
});

const quoted = (name: string) =>
  name
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.');

/** Search is not set up here, and waiting does not help. */
export class SearchOff extends Error {
  override readonly name = 'SearchOff';
}

/** @throws {SearchOff} there is no database */
export function databaseOf(env: Env<SearchConfig>): Db {
  if (!env.DB) throw new SearchOff('there is no database for embeddings');
  return env.DB;
}

/** `SearchOff` where a relation is missing, else the error itself. */
export function explained(error: unknown, { chosen }: Relations): unknown {
  const { name, sqlstate, transient } = error as { name?: string; sqlstate?: string; transient?: boolean };
  if (name !== 'DatabaseError' || transient) return error;
  const missing = /^(42P01|3F000)$/.test(sqlstate ?? '');
  const forbidden = chosen && /^(42501|42602|42703)?$/.test(sqlstate ?? ''); // a configured relation can be any
  return missing || forbidden ? new SearchOff('a relation that search reads is missing', { cause: error }) : error;
}
