/** The files of `migrations/`, each with its checksum. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../log.ts';
import { packageRoot } from '../package-root.ts';

export type SchemaMigration = { name: string; text: string; sha256: string };

/** In the order of their names. */
export async function readMigrations(folder = join(packageRoot(), 'migrations')): Promise<SchemaMigration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      return { name, text, sha256: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

/** @param applied by this process */
export function reportMigrations(log: Logger, applied: readonly string[]): void {
  if (applied.length > 0) log.info({ applied: applied.length, last: applied.at(-1) }, 'The database was migrated');
}
