/** The template of the embedded database (core/db/client/template.ts), made once for each version of PGlite and set of migrations. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { dataFolder } from '../db/client/data-folder.ts';
import { packTemplate, templateKey, templatePath } from '../db/client/template.ts';
import { readMigrations } from '../db/migrations.ts';
import type { Sql } from '../db/sql.ts';

/**
 * Brings the folder up to date: the template is made where it is missing, and others are removed.
 * @returns the template's path
 */
export async function ensureTemplate(folder: string): Promise<string> {
  const migrations = await readMigrations();
  const path = templatePath(folder, await templateKey(migrations));
  mkdirSync(folder, { recursive: true });
  if (!existsSync(path)) {
    const passing = `${path}.${process.pid}`; // in one step, since another build may be making the same
    writeFileSync(passing, await madeTemplate());
    renameSync(passing, path);
  }
  for (const name of readdirSync(folder)) if (/\.br$/.test(name) && name !== basename(path)) rmSync(join(folder, name));
  return path;
}

/** Without PostgreSQL's own models of databases, which nothing opens, a copy has half as many files and 16 MB less. */
async function dropModels(sql: Sql): Promise<void> {
  for (const name of ['template0', 'template1']) {
    await sql.script(`alter database ${name} is_template false`);
    await sql.script(`drop database ${name}`);
  }
}

async function madeTemplate(): Promise<Buffer> {
  const { openEmbedded } = await import('../db/client/embedded.ts'); // loads PGlite
  const { migrate } = await import('../db/migrate.ts');
  const { removeInstallation } = await import('../db/installation.ts');
  const folder = await mkdtemp(join(tmpdir(), 'svc-template-'));
  try {
    const database = await openEmbedded(folder, { begin() {}, end() {} }, async (sql) => {
      await migrate(sql, await readMigrations());
      await removeInstallation(sql);
      await dropModels(sql);
    });
    await database.close();
    return await packTemplate(dataFolder(folder).data);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
