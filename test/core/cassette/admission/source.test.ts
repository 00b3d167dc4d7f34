import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { resolveSource } from '../../../../core/cassette/admission/source.ts';
import { Rejection } from '../../../../core/cassette/running.ts';
import { packageRoot } from '../../../../core/package-root.ts';

const test = suite('resolveSource');
let base = '';
test.before(async () => {
  base = await mkdtemp(join(tmpdir(), 'svc-source-'));
});
test.after(() => rm(base, { recursive: true, force: true }));

async function put(files: Record<string, string | object>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(base, path)), { recursive: true });
    await writeFile(join(base, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

const resolved = (source: string, name = 'one') =>
  resolveSource(source, { base, installed: join(base, 'installed'), name });

async function refusal(source: string, name?: string): Promise<string> {
  try {
    await resolved(source, name);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    assert.is(error.step, 'resolve');
    return error.message.replaceAll(base, '<base>');
  }
  throw new Error(`Cannot happen: '${source}' was found`);
}

test('a folder: its package.json names the module as Node would find it, else the usual names do', async () => {
  await put({
    'f1/package.json': { exports: { '.': { types: './t.d.ts', require: './a.cjs', import: './a.js' } }, main: 'b.js' },
    'f1/a.js': '',
    'f1/b.js': '',
    'f2/package.json': { main: 'lib/b.js' },
    'f2/lib/b.js': '',
    'f3/index.mjs': '',
    'f4/index.js': '',
    'f4/cassette.js': '',
    'f5/package.json': { exports: './x.js' },
    'f5/x.js': '',
    'f6/package.json': { exports: { node: { default: ['./x.js'] } } },
    'f6/x.js': '',
  });
  const cases = [
    ['./f1', 'a.js'],
    ['f2/', 'lib/b.js'],
    [join(base, 'f3'), 'index.mjs'],
    ['f4', 'cassette.js'],
    ['f5', 'x.js'],
    ['f6', 'x.js'],
  ] as const;
  for (const [source, file] of cases) {
    const folder = join(base, source.replace(base, ''));
    assert.equal(
      await resolved(source),
      { kind: 'module', folder: folder.replace(/\/$/, ''), entry: join(folder, file) },
      source,
    );
  }
});

test('a file: everything in its folder belongs to it', async () => {
  await put({ 'g/some.mjs': '' });
  assert.equal(await resolved('./g/some.mjs'), {
    kind: 'module',
    folder: join(base, 'g'),
    entry: join(base, 'g/some.mjs'),
  });
});

test('a package: the one that was installed for the entry, in exactly that version', async () => {
  const inside = 'installed/one/node_modules/@acme/summaries';
  await put({ [`${inside}/package.json`]: { version: '1.2.0', main: 'c.js' }, [`${inside}/c.js`]: '' });
  assert.equal(await resolved('npm:@acme/summaries@1.2.0'), {
    kind: 'module',
    folder: join(base, 'installed/one'),
    entry: join(base, inside, 'c.js'),
  });
  assert.is(
    await refusal('npm:@acme/summaries@1.3.0'),
    "Cannot find its code: @acme/summaries 1.3.0 is wanted, and 1.2.0 is installed in '<base>/installed/one'; " +
      "install it with 'svc cassette add @acme/summaries@1.3.0 --name one'",
  );
  assert.match(
    await refusal('npm:@acme/summaries@1.2.0', 'two'),
    "is not installed in '<base>/installed/two'; install it with 'svc cassette add @acme/summaries@1.2.0 --name two'",
  );
  for (const source of ['npm:@acme/summaries', 'npm:@acme/summaries@^1.0.0', 'npm:../x@1.0.0', 'npm:a/../../b@1.0.0'])
    assert.match(await refusal(source), 'with one exact version such as 1.2.0', source);
});

test('an address is taken as it is; one with a credential or a fragment is refused, and the credential not repeated', async () => {
  const source = await resolved('https://acme.example/openapi?v=1');
  assert.is(source.kind === 'remote' && source.address.href, 'https://acme.example/openapi?v=1');
  const message = await refusal('https://user:hunter2@acme.example/openapi');
  assert.match(message, 'holds a user or a password');
  assert.not.match(message, 'hunter2');
  assert.match(await refusal('https://acme.example/openapi#x'), 'fragment');
  assert.match(await refusal('http://'), 'cannot be read');
});

test('every other scheme is refused by its name', async () => {
  for (const source of ['ftp://x/y', 'file:///etc/passwd', 'data:text/javascript,1', 'git+ssh://x/y'])
    assert.match(await refusal(source), /'[a-z+]+:' is no kind of source; give a folder/, source);
});

test('what is not there, not built, outside or TypeScript is refused with what would do', async () => {
  await put({
    'h1/package.json': { main: 'dist/x.js' },
    'h2/package.json': { main: '../g/some.mjs' },
    'h3/readme': '',
    'h4/cassette.ts': '',
    'h5/package.json': '{',
    'h6/package.json': { main: 'x.js' },
    'g/some.mjs': '',
  });
  await symlink('../g/some.mjs', join(base, 'h6/x.js'));
  assert.is(await refusal('nowhere'), "Cannot find its code: there is no '<base>/nowhere'");
  assert.match(
    await refusal('h1'),
    "no '<base>/h1/dist/x.js', which its package.json names; it may have to be built first",
  );
  assert.match(await refusal('h2'), "names '../g/some.mjs', which is outside of it");
  assert.match(await refusal('h3'), 'no module in');
  assert.match(await refusal('h4/cassette.ts'), 'is TypeScript; build it');
  assert.match(await refusal('h5'), "'<base>/h5/package.json' is no JSON");
  assert.match(await refusal('h6'), 'is a symlink that leads out of');
});

test('a file of ours is found from source where our list says', async () => {
  const source = await resolveSource('./core/cassette/contract.ts', {
    base: packageRoot(),
    installed: base,
    name: 'x',
  });
  assert.is(source.kind === 'module' && source.entry, join(packageRoot(), 'core/cassette/contract.ts'));
});

test('beside ours, in a clone, a path leads where it says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-source-'));
  await writeFile(join(folder, 'index.js'), 'export default {};\n');
  const source = `./${relative(packageRoot(), folder)}`;
  const found = await resolveSource(source, { base: packageRoot(), installed: folder, name: '' });
  assert.equal(found, { kind: 'module', folder, entry: join(folder, 'index.js') });
  await rm(folder, { recursive: true });
});

test("the service's own folder may be directly in that of a cassette, not deeper in it", async () => {
  await put({ 'around/index.js': '', 'around/deep/.svc/config.toml': '', 'beside/index.js': '', 'beside/.svc/x': '' });
  const within = (folder: string, source: string) =>
    resolveSource(source, { base, installed: join(base, folder, '.svc/cassettes'), name: 'one' });
  assert.is((await within('beside', 'beside')).kind, 'module');
  assert.is((await within('beside', 'beside/index.js')).kind, 'module');
  const error = await within('around/deep', 'around').catch((thrown: Error) => thrown);
  assert.match((error as Error).message, /deep\/\.svc' is in '.*around'; move the cassette into a folder of its own$/);
});

test.run();
