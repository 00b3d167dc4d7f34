/** Brings the index of texts up to what was derived. */
import type { Database } from '../../core/db/database.ts';
import { openIndexing } from '../../core/engine/find/index-texts.ts';

export async function indexAll({ execute }: Pick<Database, 'execute'>): Promise<void> {
  const indexBehind = openIndexing({ execute, committing: (work) => work(), rest: async () => {} });
  const { signal } = new AbortController();
  while (await indexBehind(signal));
}
