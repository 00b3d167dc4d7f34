/** A registry of our own on this machine: `svc cassette add` takes a package by its name, with what it depends on, and runs nothing. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '../../../../core/cassette/admission/digest.ts';
import type { ListEntry } from '../../../../core/cassette/list/list.ts';
import { listFiles, listTexts, readLists } from '../../../../core/cassette/list/read-list.ts';
import { addCassette } from '../../../../core/cli/cassette/add.ts';
import { newCassette } from '../../../../core/cli/cassette/new.ts';
import { OperatorError } from '../../../../core/errors.ts';
import { type NpmRegistry, startRegistry } from '../../../support/npm-registry.ts';

const test = suite('svc cassette add, from a registry');
let cwd = '';
let registry: NpmRegistry;

/** With the scripts that must not run. */
const publish = (folder: string, more: object = {}): Promise<void> =>
  registry.publish(folder, {
    scripts: Object.fromEntries(
      ['preinstall', 'install', 'postinstall'].map((when) => [when, `echo > ${join(cwd, `ran-${when}`)}`]),
    ),
    ...more,
  });

test.before(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'svc-registry-'));
  registry = await startRegistry(cwd);
  const dep = join(cwd, 'dep');
  await mkdir(dep);
  await writeFile(join(dep, 'package.json'), JSON.stringify({ name: 'dep-of-acme', version: '2.0.0' }));
  await publish(dep);
  await newCassette('tally', undefined, { cwd, out: () => {} });
  await publish(join(cwd, 'tally'), { name: '@acme/tally', dependencies: { 'dep-of-acme': '^2.0.0' } });
});
test.after(async () => {
  registry.close();
  await rm(cwd, { recursive: true, force: true });
});

async function add(what: string, folder: string): Promise<{ out: string; entry: ListEntry | undefined }> {
  await mkdir(folder, { recursive: true });
  let out = '';
  const env = {
    PATH: process.env.PATH,
    HOME: cwd,
    npm_config_registry: registry.origin,
    npm_config_fetch_retries: '0',
  };
  const io = { cwd: folder, home: cwd, folder, env, err: () => {}, confirm: null };
  const options = { name: null, yes: true, isolation: null, config: [] };
  assert.is(await addCassette(what, options, { ...io, out: (text) => (out += text) }), 0);
  const { list } = readLists(await listTexts(listFiles({ cwd: folder, folder, built_in: false })));
  return { out, entry: list[0] };
}

test('by its name the newest is taken, its version and all of its files are pinned, and no script of any has run', async () => {
  const folder = join(cwd, 'one');
  const { out, entry } = await add('@acme/tally', folder);
  assert.match(out, /from +npm:@acme\/tally@0\.1\.0/);
  assert.match(out, /with +from 127\.0\.0\.1:\d+: dep-of-acme@2\.0\.0/);
  assert.is(entry?.source, 'npm:@acme/tally@0.1.0');
  assert.is(entry?.name, 'tally');
  assert.is(entry?.digest, await digestOf(join(folder, 'cassettes/tally')));
  assert.ok(existsSync(join(folder, 'cassettes/tally/node_modules/dep-of-acme/package.json')));
  for (const when of ['preinstall', 'install', 'postinstall']) assert.not(existsSync(join(cwd, `ran-${when}`)), when);
});

test('the same version is the same digest in another place', async () => {
  const [one, two] = [await add('@acme/tally@0.1.0', join(cwd, 'two')), await add('@acme/tally', join(cwd, 'three'))];
  assert.is(one.entry?.digest, two.entry?.digest);
});

test('a version that there is not is refused, with what npm says', async () => {
  const failed = await add('@acme/tally@9.9.9', join(cwd, 'four')).catch((error: unknown) => error);
  assert.instance(failed, OperatorError);
  assert.match((failed as Error).message, /^Cannot install it: npm failed\n {2}npm error code ETARGET/);
  assert.not(existsSync(join(cwd, 'four/cassette.manifest.json')));
});

test.run();
