/** Brings the index of texts up to what was derived. */
import type { Database } from '../../core/db/database.ts';
import { indexTexts } from '../../core/engine/find/index-texts.ts';

export async function indexAll({ execute }: Pick<Database, 'execute'>): Promise<void> {
  const { signal } = new AbortController();
  const indexing = { execute, signal, committing: <T>(work: () => Promise<T>) => work(), rest: async () => {} };
  while ((await indexTexts(indexing)) > 0);
}
