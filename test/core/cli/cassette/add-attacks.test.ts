/** What a source may try before anybody has agreed to it: to run something, or to take files of the operator along. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addCassette } from '../../../../core/cli/cassette/add.ts';
import { newCassette } from '../../../../core/cli/cassette/new.ts';
import { OperatorError } from '../../../../core/errors.ts';
import { type NpmRegistry, startRegistry } from '../../../support/npm-registry.ts';

const run = promisify(execFile);
const test = suite('svc cassette add, of a hostile source');
let cwd = '';
let folder = '';
let registry: NpmRegistry;
/** A host that the operator's npm configuration does not name. */
let foreign: Server;
let foreignOrigin = '';
let foreignRequests: string[] = [];
let foreignFile: Buffer | null = null;
const env = () => ({
  PATH: process.env.PATH,
  HOME: cwd,
  npm_config_registry: registry.origin,
  npm_config_fetch_retries: '0',
});

test.before.each(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'svc-hostile-'));
  folder = join(cwd, '.svc');
  await mkdir(folder);
  registry = await startRegistry(cwd);
  foreignRequests = [];
  foreignFile = null;
  foreign = createServer((request, response) => {
    foreignRequests.push(request.url ?? '');
    if (foreignFile) response.end(foreignFile);
    else response.writeHead(404).end('{}');
  });
  await new Promise<void>((listening) => foreign.listen(0, '127.0.0.1', listening));
  foreignOrigin = `http://127.0.0.1:${(foreign.address() as AddressInfo).port}`;
  await newCassette('tally', undefined, { cwd, out: () => {} });
});
test.after.each(async () => {
  registry.close();
  foreign.close();
  await rm(cwd, { recursive: true, force: true });
});

const put = async (path: string, content: string | object): Promise<void> => {
  const whole = join(cwd, path);
  await mkdir(join(whole, '..'), { recursive: true });
  await writeFile(whole, typeof content === 'string' ? content : JSON.stringify(content));
};
const described = async (more: object): Promise<void> =>
  put('tally/package.json', { ...JSON.parse(await readFile(join(cwd, 'tally/package.json'), 'utf8')), ...more });

async function add(what: string): Promise<string> {
  let out = '';
  const io = { cwd, home: cwd, folder, env: env(), err: () => {}, confirm: null };
  const options = { name: null, yes: true, isolation: null, config: [] };
  assert.is(await addCassette(what, options, { ...io, out: (text) => (out += text) }), 0);
  return stripVTControlCharacters(out);
}

async function refusal(what: string): Promise<string> {
  const failed = await add(what).catch((error: unknown) => error);
  assert.instance(failed, OperatorError, `it was added: ${String(failed)}`);
  assert.equal(await readdir(join(folder, 'cassettes')), [], 'nothing is left of it');
  return (failed as OperatorError).message;
}

/** The folder as a tarball beside it, made by nothing but tar. */
const packed = async (name: string, as = `${name}.tgz`): Promise<void> => {
  const at = join(cwd, 'pack', as);
  await mkdir(at, { recursive: true });
  await cp(join(cwd, name), join(at, 'package'), { recursive: true, verbatimSymlinks: true });
  await run('tar', ['-czf', join(cwd, as), '-C', at, 'package']);
};

/** A repository whose preparation runs a script, and whose .npmrc names a program of its own in place of git. */
async function hostileRepository(): Promise<string> {
  const ran = (name: string) => `echo > ${join(cwd, name)}`;
  await put('repository/package.json', {
    name: 'from-git',
    version: '1.0.0',
    scripts: { prepare: ran('ran-prepare'), postinstall: ran('ran-postinstall') },
    dependencies: { further: `git+file://${join(cwd, 'repository')}` },
  });
  await put('repository/.npmrc', 'git=./pwn.sh\n');
  await put('repository/pwn.sh', `#!/bin/sh\n${ran('ran-git')}\nexit 1\n`);
  await chmod(join(cwd, 'repository/pwn.sh'), 0o755);
  const git = (...args: string[]) => run('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd: at });
  const at = join(cwd, 'repository');
  await git('init', '--quiet');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'x');
  return `git+file://${at}`;
}
const nothingRan = async () =>
  assert.equal(
    (await readdir(cwd)).filter((name) => name.startsWith('ran-')),
    [],
  );

for (const kind of ['folder', 'tarball'] as const) {
  const source = kind === 'folder' ? './tally' : './tally.tgz';
  const ready = () => (kind === 'folder' ? undefined : packed('tally'));

  test(`a ${kind} with a git dependency: neither its scripts nor what its .npmrc names run, and it is refused by its name`, async () => {
    const repository = await hostileRepository();
    await described({ dependencies: { 'from-git': repository } });
    await put('tally/.npmrc', 'git=./pwn.sh\n');
    await put('tally/pwn.sh', `#!/bin/sh\necho > ${join(cwd, 'ran-git')}\n`);
    await chmod(join(cwd, 'tally/pwn.sh'), 0o755);
    await ready();
    const message = await refusal(source);
    assert.match(message, `from-git would come from ${repository}`);
    await nothingRan();
  });

  test(`a ${kind} with a file: dependency copies nothing of the operator's, and is refused by its name`, async () => {
    await put('.svc/credentials', 'hunter2');
    await put('package.json', { name: 'working-folder', version: '1.0.0' });
    await put('credentials', 'hunter2');
    for (const [loot, type] of [
      ['file:../../../../..', 'dependencies'],
      [`file:${cwd}`, 'optionalDependencies'],
    ] as const) {
      await described({ dependencies: {}, optionalDependencies: {}, [type]: { loot } });
      await ready();
      assert.match(await refusal(source), `loot would come from ${loot}`);
    }
  });

  test(`a ${kind}'s .npmrc is not read`, async () => {
    await put('dep/package.json', { name: 'dep', version: '1.0.0' });
    await registry.publish(join(cwd, 'dep'));
    await described({ dependencies: { dep: '1.0.0' } });
    await put('tally/.npmrc', `registry=${foreignOrigin}\n@acme:registry=${foreignOrigin}\nignore-scripts=false\n`);
    await ready();
    const out = await add(source);
    assert.match(out, `from ${new URL(registry.origin).host}: dep@1.0.0`);
    assert.equal(foreignRequests, []);
  });
}

test('a source whose own lock names another host is refused or its lock not read, and nothing is asked of that host', async () => {
  const integrity = `sha512-${Buffer.alloc(64).toString('base64')}`;
  const dep = { version: '1.0.0', resolved: `${foreignOrigin}/dep/-/dep-1.0.0.tgz`, integrity };
  const root = { name: 'tally', version: '0.1.0', dependencies: { dep: '1.0.0' } };
  const packages = { '': root, 'node_modules/dep': dep };
  await described({ dependencies: { dep: '1.0.0' }, files: ['dist', 'npm-shrinkwrap.json'], _hasShrinkwrap: true });
  await put('tally/npm-shrinkwrap.json', { ...root, lockfileVersion: 3, requires: true, packages });
  await put('dep/package.json', { name: 'dep', version: '1.0.0' });
  await registry.publish(join(cwd, 'dep'));
  await registry.publish(join(cwd, 'tally'), { _hasShrinkwrap: true });
  assert.match(
    await refusal('tally@latest'),
    `dep@1.0.0 would come from ${dep.resolved}, which is no registry of yours`,
  );
  await packed('tally');
  for (const source of ['./tally', './tally.tgz'])
    assert.match(await add(source).catch(String), /from 127[0-9.:]+: dep@1\.0\.0|dep@1\.0\.0 would come from/);
  assert.equal(foreignRequests, []);
});

test('what a dependency from the registry depends on is refused alike: git, a folder, a file, and an address', async () => {
  const repository = await hostileRepository();
  await put('loot/package.json', {
    name: 'from-git',
    version: '1.0.0',
    scripts: { postinstall: `echo > ${cwd}/ran-it` },
  });
  await packed('loot');
  foreignFile = await readFile(join(cwd, 'loot.tgz'));
  for (const [at, found] of [
    [repository, /from-git@git\+file/],
    ['file:../../../../..', /packages of type "directory"/],
    [`file:${join(cwd, 'loot.tgz')}`, /from-git@1\.0\.0 would come from file:/],
    [
      `${foreignOrigin}/loot.tgz`,
      `from-git@1.0.0 would come from ${foreignOrigin}/loot.tgz, which is no registry of yours`,
    ],
  ] as const) {
    await put('dep/package.json', { name: 'dep', version: '1.0.0', dependencies: { 'from-git': at } });
    await registry.publish(join(cwd, 'dep'));
    await described({ dependencies: { dep: '1.0.0' } });
    assert.match(await refusal('./tally'), found);
    await nothingRan();
    await rm(join(cwd, '.npm'), { recursive: true });
  }
});

test('a dependency whose tarball lies on another host than the registry is refused, and so is one without sha512', async () => {
  await put('dep/package.json', { name: 'dep', version: '1.0.0' });
  await described({ dependencies: { dep: '1.0.0' } });
  await registry.publish(join(cwd, 'dep'), {}, { tarball: `${foreignOrigin}/dep.tgz` });
  assert.match(await refusal('./tally'), `dep@1.0.0 would come from ${foreignOrigin}/dep.tgz, which is no registry`);
  assert.equal(foreignRequests, []);
  await rm(join(cwd, '.npm'), { recursive: true });
  await registry.publish(join(cwd, 'dep'), {}, { integrity: undefined, shasum: '0'.repeat(40) });
  assert.match(await refusal('./tally'), `dep@1.0.0 from ${registry.origin}/dep/-/1.0.0.tgz has no sha512`);
});

test('a package that the registry itself has under the name that was asked for has to come from there too', async () => {
  await registry.publish(join(cwd, 'tally'), {}, { tarball: `${foreignOrigin}/tally.tgz` });
  assert.match(await refusal('tally@latest'), `tally@0.1.0 would come from ${foreignOrigin}/tally.tgz`);
  assert.equal(foreignRequests, []);
});

test('a bundled dependency that is a symlink out of the folder is refused; packed into a tarball it is left out', async () => {
  await put('credentials/package.json', { name: 'loot', version: '1.0.0' });
  await put('credentials/secret', 'hunter2');
  await mkdir(join(cwd, 'tally/node_modules'), { recursive: true });
  await symlink('../../credentials', join(cwd, 'tally/node_modules/loot'));
  await described({ dependencies: { loot: '1.0.0' }, bundleDependencies: ['loot'] });
  assert.match(await refusal('./tally'), /node_modules\/loot' is a symlink that leads out of the folder/);

  await described({ dependencies: {}, bundleDependencies: [] });
  await rm(join(cwd, 'tally/node_modules'), { recursive: true });
  await symlink('../../credentials', join(cwd, 'tally/dist/link'));
  for (const source of ['./tally', './tally.tgz']) {
    await packed('tally');
    await add(source);
    assert.not.ok(existsSync(join(folder, 'cassettes/tally/node_modules/tally/dist/link')), source);
  }
});

test('overrides of the source change nothing', async () => {
  await put('dep/package.json', { name: 'dep', version: '1.0.0', dependencies: { deeper: '1' } });
  await put('deeper/package.json', { name: 'deeper', version: '1.0.0' });
  for (const name of ['dep', 'deeper']) await registry.publish(join(cwd, name));
  await described({ dependencies: { dep: '1.0.0' }, overrides: { deeper: `file:${cwd}` } });
  assert.match(await add('./tally'), `from ${new URL(registry.origin).host}: deeper@1.0.0, dep@1.0.0`);
});

test('the page names every dependency, and where it comes from', async () => {
  await put('dep/package.json', { name: 'dep', version: '1.0.0', dependencies: { '@acme/deeper': '2.x' } });
  await put('deeper/package.json', { name: '@acme/deeper', version: '2.0.1' });
  for (const name of ['dep', 'deeper']) await registry.publish(join(cwd, name));
  await put('tally/node_modules/within/package.json', { name: 'within', version: '3.0.0' });
  await described({ dependencies: { dep: '1', within: '3', alias: 'npm:dep@1' }, bundleDependencies: ['within'] });
  const { host } = new URL(registry.origin);
  const out = await add('./tally');
  assert.match(out, `from ${host}: @acme/deeper@2.0.1, alias (dep@1.0.0), dep@1.0.0`);
  assert.match(out, /^ +inside tally: within@3\.0\.0$/m);
  await registry.publish(join(cwd, 'tally'));
  assert.match(await add('tally@latest'), `npm:tally@0.1.0, from ${host}`);
});

test.run();
