/** A new database is a copy of the template: whole or not there, and an installation of its own. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { copyTemplate, findTemplate, templateKey, templatePath } from '../../../../core/db/client/template.ts';
import { readMigrations } from '../../../../core/db/migrations.ts';
import { openDatabase } from '../../../../core/db/open.ts';
import { openLog } from '../../../../core/log.ts';
import { startTestThread, templateFile } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';

/** What each installation has of its own. All else is equal. */
const OWN = ['svc.installation.created_at', 'svc.installation.identity_key', 'svc_meta.migrations.applied_at'];

const test = suite('the template of the embedded database');
const folders: string[] = [];
let template: string;

const newFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
  folders.push(folder);
  return folder;
};

async function opened<T>(
  folder: string,
  from: string | null,
  work: (sql: (text: string) => Promise<Record<string, unknown>[]>) => Promise<T>,
): Promise<T> {
  const log = openLog('silent');
  const database = await openDatabase({
    ...{ dsn: '', pooled: false, folder, log },
    ...{ startThread: startTestThread, template: from },
  });
  const execute = database.execute as unknown as (name: string, args: unknown) => Promise<Record<string, unknown>[]>;
  return work((text) => execute('rawSql', { text, params: [] })).finally(() => database.close());
}

type Content = { schema: Record<string, unknown>[]; tables: Map<string, Record<string, unknown>[]> };

const contentOf = (folder: string, from: string | null): Promise<Content> =>
  opened(folder, from, async (sql) => {
    const found = await sql(
      `select table_schema || '.' || table_name as name from information_schema.tables
        where table_schema like 'svc%' and table_type = 'BASE TABLE' order by 1`,
    );
    const tables: Content['tables'] = new Map();
    for (const { name } of found)
      tables.set(String(name), await sql(`select t.*, t::text collate "C" as whole from ${name} t order by whole`));
    for (const rows of tables.values()) for (const row of rows) delete row.whole;
    return { schema: await sql(SCHEMA), tables };
  });

/** Everything that migrations declare. */
const SCHEMA = `
  select 'column' as kind, format('%s.%s.%s', table_schema, table_name, column_name) as name,
         concat_ws(' ', ordinal_position, data_type, is_nullable, column_default) as text
    from information_schema.columns where table_schema like 'svc%'
   union all select 'index', schemaname || '.' || indexname, indexdef from pg_indexes where schemaname like 'svc%'
   union all select 'view', schemaname || '.' || viewname, definition from pg_views where schemaname like 'svc%'
   union all select 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
               from pg_constraint where connamespace::regnamespace::text like 'svc%'
   union all select 'trigger', tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
   union all select 'function', oid::regprocedure::text, pg_get_functiondef(oid)
               from pg_proc where pronamespace::regnamespace::text like 'svc%' and prokind = 'f'
   union all select 'extension', extname, extversion from pg_extension
   union all select 'setting', name, setting from pg_settings where name <> 'data_directory'
   order by 1, 2, 3`;

/** The columns in which the two differ, by table. */
function differences(one: Content, other: Content): string[] {
  assert.equal([...one.tables.keys()], [...other.tables.keys()]);
  const found = new Set<string>();
  for (const [table, rows] of one.tables) {
    const others = other.tables.get(table) ?? [];
    assert.is(rows.length, others.length, table);
    const keyed = (all: typeof rows) => [...all].sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
    const [left, right] = [keyed(rows), keyed(others)];
    for (const [i, row] of left.entries())
      for (const [column, value] of Object.entries(row))
        if (JSON.stringify(value) !== JSON.stringify(right[i]?.[column])) found.add(`${table}.${column}`);
  }
  return [...found].sort();
}

test.before(async () => {
  template = await templateFile();
});
test.after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

test('two installations differ in exactly what is their own, and from one that was migrated in nothing else', async () => {
  const began = Date.now();
  const [one, other, migrated] = [await newFolder(), await newFolder(), await newFolder()];
  const [first, second] = [await contentOf(one, template), await contentOf(other, template)];
  assert.equal(differences(first, second), OWN);
  const third = await contentOf(migrated, null);
  assert.equal(differences(first, third), OWN);
  assert.equal(first.schema, third.schema);
  assert.ok(first.schema.length > 300, `${first.schema.length} parts of a schema`);

  const [installation] = first.tables.get('svc.installation') ?? [];
  assert.is((installation?.identity_key as Uint8Array | undefined)?.length, 32);
  const times = (first.tables.get('svc_meta.migrations') ?? []).map(({ applied_at }) => String(applied_at));
  assert.equal([...new Set(times)], [String(installation?.created_at)]);
  assert.ok(Date.parse(String(installation?.created_at)) >= began, 'later than the template');
  assert.equal(differences(first, await contentOf(one, template)), [], 'and stays as it is');
});

test('a process that is killed while it copies leaves nothing half: the next one opens a whole database', async () => {
  const main = new URL('../../../support/open-and-wait.ts', import.meta.url).pathname;
  const seen = new Set<string>();
  for (const delayMs of [0, 20, 80, 200, 500]) {
    const folder = await newFolder();
    const child = spawn(process.execPath, ['--import', 'tsx', main, folder, template], { stdio: 'ignore' });
    await eventually(() => existsSync(join(folder, 'data.copying')) || existsSync(join(folder, 'data')), 60_000);
    await wait(delayMs);
    child.kill('SIGKILL');
    await eventually(() => child.signalCode !== null);
    for (const name of readdirSync(folder)) seen.add(name.replace(/^lock.*/, 'lock'));
    const [row] = await opened(folder, template, (sql) =>
      sql(
        `select length(identity_key) as length, (select count(*) from svc_meta.migrations) as files from svc.installation`,
      ),
    );
    assert.equal(row, { length: 32, files: (await readMigrations()).length });
    assert.equal(readdirSync(folder).sort(), ['.gitignore', 'data', 'data.used-by']);
  }
  assert.ok(seen.has('data.copying'), 'one was killed in the middle');
});

test('what an interrupted creation left gives way to the copy', async () => {
  const folder = await newFolder();
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'data/PG_VERSION'), '18');
  await writeFile(join(folder, 'data.making'), '');
  await opened(folder, template, (sql) => sql('select 1'));
  assert.equal(readdirSync(folder).sort(), ['.gitignore', 'data', 'data.used-by']);
});

test('one that cannot be read counts as none', async () => {
  const folder = await newFolder();
  const broken = join(folder, 'broken.br');
  await writeFile(broken, 'no template');
  await opened(join(folder, 'own'), broken, (sql) => sql('select from svc.installation'));
  assert.equal(readdirSync(join(folder, 'own')).sort(), ['.gitignore', 'data', 'data.used-by']);
});

test('one that is cut off counts as none, and nothing of it stays', async () => {
  const folder = await newFolder();
  const cut = join(await newFolder(), 'cut.br');
  const whole = await readFile(template);
  for (const bytes of [0, 10, whole.length >> 1, whole.length - 1]) {
    await writeFile(cut, whole.subarray(0, bytes));
    assert.is(await copyTemplate(cut, folder), false, `${bytes} bytes`);
    assert.equal(readdirSync(folder), []);
  }
});

test('only that of the same migrations is used', async () => {
  const folder = await newFolder();
  const migrations = await readMigrations();
  const edited = migrations.map((each, i) => (i === 3 ? { ...each, sha256: each.sha256.replace(/^./, 'x') } : each));
  const keys = [migrations, edited, migrations.slice(1)].map((each) => templateKey(each));
  assert.is(new Set(await Promise.all(keys)).size, 3);
  assert.is(await findTemplate(join(folder, 'absent')), null);
  await copyFile(template, templatePath(folder, await templateKey(edited)));
  assert.is(await findTemplate(folder), null);
  await copyFile(template, templatePath(folder, await templateKey()));
  assert.is(await findTemplate(folder), templatePath(folder, await templateKey(migrations)));
});

test.run();
