/** `npm start` compiles what is new and says so; what is there already costs nothing, and what has no source any more goes. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { appendFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { removeFolder } from '../../support/serve.ts';
import { freshClone } from '../../support/shell-lines.ts';

const test = suite('npm run build');

const root = resolve(import.meta.dirname, '../../..');
let clone: string;

function build() {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(clone, 'core/build/main.mjs')], {
    cwd: '/', // it is called from anywhere
    encoding: 'utf8',
  });
  return { status, said: stdout + stderr };
}

/** When each output was written, by its path. */
const outputs = (): Map<string, number> =>
  new Map(
    readdirSync(join(clone, 'dist'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.js'))
      .map((path) => [path, statSync(join(clone, 'dist', path)).mtimeMs]),
  );
const written = (before: ReadonlyMap<string, number>) =>
  [...outputs()].filter(([path, at]) => before.get(path) !== at).map(([path]) => path);

test.before(async () => {
  clone = await freshClone();
});
test.after(() => removeFolder(clone));

test('without its packages it says what to do', () => {
  const { status, said } = build();
  assert.is(status, 1);
  assert.is(said, "Cannot compile svc: its packages are not here; run 'npm ci' first\n");
});

test('the first time it says what takes so long, and compiles the service without its tests', async () => {
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'));
  const { status, said } = build();
  assert.is(status, 0, said);
  assert.match(said, /^Compiling svc: .*\nCompiled in [\d.]+ s\n$/);
  assert.ok(existsSync(join(clone, 'dist/core/cli/main.js')));
  assert.equal(readdirSync(join(clone, 'dist')).sort(), [
    'cassettes',
    'core',
    'ingest',
    'proxy',
    'tsconfig.tsbuildinfo',
  ]);
});

const templates = () => readdirSync(join(clone, 'dist/core/db/template')).map((name) => ({ name, at: timeOf(name) }));
const timeOf = (name: string) => statSync(join(clone, 'dist/core/db/template', name)).mtimeMs;

test('it makes one template of the database, which stays until a migration is added, and comes again when it is gone', async () => {
  const made = templates();
  assert.is(made.length, 1);
  assert.is(build().status, 0);
  assert.equal(templates(), made);
  await writeFile(join(clone, 'migrations/9999_one_more.sql'), 'create table svc.one_more (n integer);\n');
  assert.is(build().status, 0);
  const [other] = templates();
  assert.is(templates().length, 1);
  assert.is.not(other?.name, made[0]?.name);
  await rm(join(clone, 'migrations/9999_one_more.sql'));
  assert.is(build().status, 0);
  assert.equal(
    templates().map(({ name }) => name),
    made.map(({ name }) => name),
  );
});

test('when nothing has changed nothing is written', () => {
  const before = outputs();
  assert.is(build().status, 0);
  assert.equal(written(before), []);
});

test('one changed source is one new output', async () => {
  const before = outputs();
  await appendFile(join(clone, 'core/cli/units.ts'), '\nexport const added = 1;\n');
  assert.is(build().status, 0);
  assert.equal(written(before), ['core/cli/units.js']);
});

test('a changed source of the database thread is in its one file', async () => {
  const bundle = () => readFileSync(join(clone, 'dist/core/db/client/embedded-worker.bundle.js'), 'utf8');
  assert.not.match(bundle(), 'once_more_here');
  await appendFile(join(clone, 'core/db/ping.ts'), '\nPromise.resolve("once_more_here").catch(() => {});\n');
  assert.is(build().status, 0);
  assert.match(bundle(), 'once_more_here');
});

test('an output whose source is gone or was renamed goes, and so do those of another build', async () => {
  await writeFile(join(clone, 'core/cli/passing.ts'), 'export const passing = 1;\n');
  assert.is(build().status, 0);
  assert.ok(existsSync(join(clone, 'dist/core/cli/passing.js')));
  await rename(join(clone, 'core/cli/passing.ts'), join(clone, 'core/cli/passed.ts'));
  await mkdir(join(clone, 'dist/test'), { recursive: true });
  await writeFile(join(clone, 'dist/test/old.js'), '');
  assert.is(build().status, 0);
  assert.not.ok(existsSync(join(clone, 'dist/core/cli/passing.js')));
  assert.not.ok(existsSync(join(clone, 'dist/core/cli/passing.js.map')));
  assert.ok(existsSync(join(clone, 'dist/core/cli/passed.js')));
  assert.not.ok(existsSync(join(clone, 'dist/test')));
});

test('an output that somebody removed comes again', async () => {
  await rm(join(clone, 'dist/core/errors.js'));
  assert.is(build().status, 0);
  assert.ok(existsSync(join(clone, 'dist/core/errors.js')));
});

test('what cannot be compiled ends it', async () => {
  await writeFile(join(clone, 'core/cli/broken.ts'), 'export const = 1;\n');
  const { status, said } = build();
  assert.is.not(status, 0);
  assert.match(said, 'core/cli/broken.ts');
});

test.run();
