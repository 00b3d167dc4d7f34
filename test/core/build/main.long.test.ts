/** `npm start` compiles what is new and says so; what is there already costs nothing, and what has no source any more goes. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { appendFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { QUICK_START, removeFolder } from '../../support/serve.ts';
import { freshClone } from '../../support/shell-lines.ts';

const test = suite('npm run build');

const root = resolve(import.meta.dirname, '../../..');
let clone = '';

function build() {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...QUICK_START, join(clone, 'core/build/main.mjs')], {
    cwd: '/', // it is called from anywhere
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
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
test.after(async () => {
  if (clone !== '') await removeFolder(clone); // else it was not made, and that is what failed
});

test('without its packages it says what to do', () => {
  const { status, output } = build();
  assert.is(status, 1);
  assert.is(output, "Cannot compile svc: its packages are not here; run 'npm ci' first\n");
});

test('the first time it says what takes so long, and compiles the service without its tests', async () => {
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'));
  const { status, output } = build();
  assert.is(status, 0, output);
  assert.match(output, /^Compiling svc: .*\nCompiled in [\d.]+ s\n$/);
  assert.ok(existsSync(join(clone, 'dist/core/cli/main.js')));
  assert.equal(readdirSync(join(clone, 'dist')).sort(), [
    'bundle',
    'cassettes',
    'core',
    'ingest',
    'proxy',
    'tsconfig.tsbuildinfo',
  ]);
});

const templates = () => readdirSync(join(clone, 'dist/core/db/template')).map((name) => ({ name, at: timeOf(name) }));
const timeOf = (name: string) => statSync(join(clone, 'dist/core/db/template', name)).mtimeMs;
const template = () => templates().map(({ name }) => name);

test('when nothing has changed nothing is written, nor is a template of the database made', () => {
  const [before, made] = [outputs(), templates()];
  assert.is(made.length, 1);
  assert.is(build().status, 0);
  assert.equal(written(before), []);
  assert.equal(templates(), made);
});

const bundles = () => readdirSync(join(clone, 'dist/bundle'));
/** In a file that several bundles of commands share. */
const changeCommands = (word: string) =>
  appendFile(join(clone, 'core/cli/running-service.ts'), `\nPromise.resolve("${word}").catch(() => {});\n`);
let first: string[];
let second: string[];

test('one changed source is one new output, and what is bundled of it; a running service may still load what was bundled before', async () => {
  const before = outputs();
  first = bundles();
  await changeCommands('once');
  assert.is(build().status, 0);
  second = bundles();
  assert.ok(second.length > first.length);
  assert.ok(first.every((name) => second.includes(name)));
  assert.equal(
    written(before).filter((path) => !path.startsWith('bundle')),
    ['core/cli/running-service.js'],
  );
});

let made: string[];

test('a changed source of the database thread is in its bundle, and an added migration in the one template', async () => {
  made = template();
  const bundle = () => readFileSync(join(clone, 'dist/bundle/core.db.client.embedded-worker.js'), 'utf8');
  assert.not.match(bundle(), 'once_more_here');
  await appendFile(join(clone, 'core/db/ping.ts'), '\nPromise.resolve("once_more_here").catch(() => {});\n');
  await writeFile(join(clone, 'migrations/9999_one_more.sql'), 'create table svc.one_more (n integer);\n');
  assert.is(build().status, 0);
  assert.match(bundle(), 'once_more_here');
  assert.is(template().length, 1);
  assert.is.not(template()[0], made[0]);
});

test('a package that is bundled needs no file that lies beside it', () => {
  const needs = new Set<string>();
  for (const record of readdirSync(join(clone, 'dist/bundle')).filter((name) => name.endsWith('.json'))) {
    const { sources } = JSON.parse(readFileSync(join(clone, 'dist/bundle', record), 'utf8')) as { sources: object };
    for (const path of Object.keys(sources).filter((source) => source.includes('node_modules'))) {
      const text = readFileSync(join(clone, 'dist', path), 'utf8');
      if (/import\.meta\.(?:url|dirname)|__(?:dir|file)name|require\.resolve/.test(text)) needs.add(path);
    }
  }
  // none of these does so here: transports of the log in threads, and commands in files of their own
  const not = ['thread-stream/index.js', 'pino/lib/transport.js', 'commander/lib/command.js'];
  assert.equal(
    [...needs].filter((path) => !not.some((end) => path.endsWith(end))),
    [],
  );
});

test('an output whose source is gone or was renamed goes, and so do those of another build', async () => {
  await writeFile(join(clone, 'core/cli/passing.ts'), 'export const passing = 1;\n');
  await rm(join(clone, 'migrations/9999_one_more.sql'));
  assert.is(build().status, 0);
  assert.equal(template(), made, 'the template that was there before is made again');
  assert.ok(existsSync(join(clone, 'dist/core/cli/passing.js')));
  await rename(join(clone, 'core/cli/passing.ts'), join(clone, 'core/cli/passed.ts'));
  await changeCommands('twice');
  await mkdir(join(clone, 'dist/test'), { recursive: true });
  await writeFile(join(clone, 'dist/test/old.js'), '');
  await rm(join(clone, 'dist/core/errors.js'));
  assert.is(build().status, 0);
  assert.ok(existsSync(join(clone, 'dist/core/errors.js')), 'an output that somebody removed comes again');
  assert.not.ok(existsSync(join(clone, 'dist/core/cli/passing.js')));
  assert.not.ok(existsSync(join(clone, 'dist/core/cli/passing.js.map')));
  assert.ok(existsSync(join(clone, 'dist/core/cli/passed.js')));
  assert.not.ok(existsSync(join(clone, 'dist/test')));
  assert.ok(second.filter((name) => !first.includes(name)).every((name) => bundles().includes(name)));
  assert.ok(
    first.some((name) => !bundles().includes(name)),
    'what was bundled two builds ago is gone',
  );
});

test('what cannot be compiled ends it', async () => {
  await writeFile(join(clone, 'core/cli/broken.ts'), 'export const = 1;\n');
  const { status, output } = build();
  assert.is.not(status, 0);
  assert.match(output, 'core/cli/broken.ts');
});

test.run();
