import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '../../../../core/cassette/admission/digest.ts';
import { resolveSource } from '../../../../core/cassette/admission/source.ts';
import type { ListEntry } from '../../../../core/cassette/list/list.ts';
import { listFiles, listTexts, readLists } from '../../../../core/cassette/list/read-list.ts';
import { type AddOptions, addCassette } from '../../../../core/cli/cassette/add.ts';
import { newCassette } from '../../../../core/cli/cassette/new.ts';
import { OperatorError } from '../../../../core/errors.ts';

const test = suite('svc cassette add');
let cwd = '';
let folder = '';
test.before.each(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'svc-add-'));
  folder = join(cwd, '.svc');
  await mkdir(folder);
});
test.after.each(() => rm(cwd, { recursive: true, force: true }));

type Given = Partial<AddOptions> & { env?: Record<string, string>; agree?: boolean | null };

/** `agree` null: nobody sits at a terminal. */
async function add(what: string, { env = {}, agree = true, ...options }: Given = {}) {
  const output = { out: '', err: '', prompts: [] as string[] };
  const status = await addCassette(
    what,
    { name: null, yes: false, isolation: null, config: [], ...options },
    {
      ...{ cwd, home: cwd, folder, env: { PATH: process.env.PATH, HOME: cwd, ...env } },
      out: (text) => {
        output.out += text;
      },
      err: (text) => {
        output.err += text;
      },
      confirm:
        agree === null
          ? null
          : async (question) => {
              output.prompts.push(question);
              return agree;
            },
    },
  );
  return { ...output, out: stripVTControlCharacters(output.out), raw: output.out, status };
}

async function refusal(what: string, given?: Given): Promise<{ message: string; exitCode: number }> {
  try {
    await add(what, given);
  } catch (error) {
    if (error instanceof OperatorError) return { message: error.message, exitCode: error.exitCode };
    throw error;
  }
  throw new Error(`Cannot happen: ${what} was added`);
}

const entries = async (): Promise<ListEntry[]> =>
  readLists(await listTexts(listFiles({ cwd, folder, built_in: false }))).list;
const installed = async () => (await readdir(join(folder, 'cassettes')).catch(() => [])).sort();
const begun = (name: string) => newCassette(name, undefined, { cwd, out: () => {} });

/** The manifest of a new cassette, changed. */
async function manifested(name: string, change: (text: string) => string): Promise<void> {
  await begun(name);
  const file = join(cwd, name, 'dist/cassette.js');
  const before = await readFile(file, 'utf8');
  const after = change(before);
  assert.is.not(after, before);
  await writeFile(file, after);
}

test('what it asks for is shown and asked; a yes installs it, pins it and grants what was shown', async () => {
  await begun('tally');
  const { out, prompts, status } = await add('./tally');
  assert.is(status, 0);
  assert.equal(prompts, ['Add tally? [y/N] ']);
  for (const line of [
    /^ {2}from +\S+\/tally, as npm:tally@0\.1\.0$/m,
    /^ {2}reads +sessions: titles, folders, models/m,
    /^ {2}stores +in a schema of its own: counts$/m,
    /^ {2}asks +the read API/m,
    /^ {2}runs +by itself every 5 min$/m,
    /^ {2}min_turns +1, unless --config min_turns=…$/m,
    /^ {2}routes +\/v1\/cassettes\/tally\/…, 3 operations$/m,
    /^ {2}tool +tally_longest: The recorded sessions with the most turns$/m,
    /^It runs in a process of its own:\n {2}kept from /m,
    /^ {2}not kept from /m,
  ])
    assert.match(out, line);
  assert.match(out, `Added tally to ${join(folder, 'cassette.manifest.json')}\n`);
  const [entry, ...others] = await entries();
  assert.is(others.length, 0);
  assert.is(entry?.source, 'npm:tally@0.1.0');
  assert.is(entry?.digest, await digestOf(join(folder, 'cassettes/tally')));
  assert.equal(entry?.grants, { bindings: ['db', 'core'], views: ['sessions'], extensions: [] });
  assert.equal(await installed(), ['tally']);
  const source = await resolveSource(entry?.source ?? '', {
    base: folder,
    installed: join(folder, 'cassettes'),
    name: 'tally',
  });
  assert.is(source.kind === 'module' && existsSync(source.entry), true);
  assert.equal((await readdir(folder)).sort(), ['cassette.manifest.json', 'cassettes']);
});

test('a tarball is the same as the folder that it was packed of, to the last byte', async () => {
  await begun('tally');
  await promisify(execFile)('npm', ['pack', '--ignore-scripts', '--silent'], { cwd: join(cwd, 'tally') });
  await add('./tally', { yes: true });
  const fromFolder = await entries();
  await rm(folder, { recursive: true });
  await mkdir(folder);
  await cp(join(cwd, 'tally/tally-0.1.0.tgz'), join(cwd, 'tally.tgz'));
  await rm(join(cwd, 'tally'), { recursive: true });
  await add('tally.tgz', { yes: true });
  assert.equal(await entries(), fromFolder);
});

test('a no, and nobody to ask, leave nothing', async () => {
  await begun('tally');
  const { status, out } = await add('./tally', { agree: false });
  assert.is(status, 1);
  assert.match(out, /Nothing was added\n$/);
  const { message, exitCode } = await refusal('./tally', { agree: null });
  assert.is(exitCode, 2);
  assert.match(message, 'this is no terminal; look at what it asks for in one, or say --yes');
  assert.is((await add('./tally', { agree: null, yes: true })).status, 0);
  await rm(join(folder, 'cassette.manifest.json'));
  await rm(join(folder, 'cassettes/tally'), { recursive: true });
  assert.equal(await installed(), []);
});

test('nothing of it is run by the installation: neither its scripts nor those of what it brings along', async () => {
  await begun('tally');
  const described = JSON.parse(await readFile(join(cwd, 'tally/package.json'), 'utf8')) as Record<string, unknown>;
  const touch = (name: string) => `node -e "require('fs').writeFileSync('${join(cwd, name)}','')"`;
  const scripts = Object.fromEntries(
    ['preinstall', 'install', 'postinstall', 'prepare', 'prepack'].map((name) => [name, touch(name)]),
  );
  const dependency = join(cwd, 'tally/node_modules/dep');
  await mkdir(dependency, { recursive: true });
  await writeFile(join(dependency, 'package.json'), JSON.stringify({ name: 'dep', version: '1.0.0', scripts }));
  await writeFile(
    join(cwd, 'tally/package.json'),
    JSON.stringify({ ...described, scripts, dependencies: { dep: '1.0.0' }, bundleDependencies: ['dep'] }),
  );
  const { out } = await add('./tally');
  assert.match(out, /^ {2}with +inside tally: dep@1\.0\.0$/m);
  assert.equal((await readdir(cwd)).sort(), ['.npm', '.svc', 'tally']); // npm's own cache
});

test('a newer version takes the place of the one before, keeps its settings, and says what it asks for anew', async () => {
  await begun('tally');
  await add('./tally', { config: ['min_turns=3'] });
  const [before] = await entries();
  const text = await readFile(join(folder, 'cassette.manifest.json'), 'utf8');
  await writeFile(
    join(folder, 'cassette.manifest.json'),
    text.replace('"name": "tally",', '"name": "tally", "required": true,'),
  );
  for (const file of ['dist/cassette.js', 'package.json']) {
    const path = join(cwd, 'tally', file);
    const changed = (await readFile(path, 'utf8'))
      .replace("views: ['sessions']", "views: ['sessions', 'spans']")
      .replace(/(version.*)0\.1\.0/, '$10.2.0');
    await writeFile(path, changed);
  }
  const { out } = await add('./tally');
  assert.match(out, /^ {2}instead of +npm:tally@0\.1\.0$/m);
  assert.match(out, /^ {2}reads +spans: every step in full: prompts, answers, tool calls and their results \(new\)$/m);
  assert.not.match(out, /costs of all sessions \(new\)/);
  const [entry] = await entries();
  assert.is(entry?.source, 'npm:tally@0.2.0');
  assert.is.not(entry?.digest, before?.digest);
  assert.equal(entry?.config, { min_turns: 3 });
  assert.is(entry?.required, true);
  assert.equal(await installed(), ['tally']);
});

test('under another name it stands beside itself, with tools of that name', async () => {
  await begun('tally');
  await add('./tally');
  const { out } = await add('./tally', { name: 'second' });
  assert.match(out, /^ {2}calls itself +tally$/m);
  assert.match(out, /^ {2}tool +second_longest/m);
  assert.equal(
    (await entries()).map(({ name }) => name),
    ['second', 'tally'],
  );
  assert.equal(await installed(), ['second', 'tally']);
  assert.match((await refusal('./tally', { name: 'svc' })).message, "Cannot name a cassette 'svc': it is reserved");
});

test('a setting that is missing is said where it is seen and at the end; a secret belongs into the environment', async () => {
  await manifested('tally', (text) =>
    text.replace('config: [', "config: [{ key: 'api.key', type: 'string', required: true, secret: true },"),
  );
  const { out } = await add('./tally');
  assert.match(out, /^ {2}api\.key +missing: set SVC_CASSETTE_TALLY_API_KEY where svc runs$/m);
  assert.match(
    out,
    /^Set SVC_CASSETTE_TALLY_API_KEY where svc runs, and start svc again: until then it is not let in$/m,
  );
  const set = await add('./tally', { env: { SVC_CASSETTE_TALLY_API_KEY: 'hunter2' } });
  assert.match(set.out, /^ {2}api\.key +set by SVC_CASSETTE_TALLY_API_KEY$/m);
  assert.not.match(set.out, 'hunter2');
  const { message, exitCode } = await refusal('./tally', { config: ['api.key=hunter2'] });
  assert.is(exitCode, 2);
  assert.match(
    message,
    'it is a secret, and the list is no place for one; set SVC_CASSETTE_TALLY_API_KEY where svc runs',
  );
  assert.not.match(message + (await readFile(join(folder, 'cassette.manifest.json'), 'utf8')), 'hunter2');
});

test('a cassette that cannot be taken is refused with every reason, and the one before stays', async () => {
  await begun('tally');
  await add('./tally');
  const before = { entries: await entries(), digest: await digestOf(join(folder, 'cassettes/tally')) };
  const file = join(cwd, 'tally/dist/cassette.js');
  const good = await readFile(file, 'utf8');
  const cases: [string, string, RegExp][] = [
    ["kind: 'svc.cassette/v1'", "kind: 'x', more: 1", /^Cannot add '\.\/tally':\n {2}- .*kind.*\n {2}- .*more/],
    ['export default {', 'throw new Error("boom"); export default {', /boom/],
    ["'GET /openapi': () =>", "'GET /openapi': () => new Response('', { status: 500 }) ?? ", /it answered 500/],
    ["name: 'tally'", "name: 'svc'", /is reserved/],
  ];
  for (const [from, to, why] of cases) {
    assert.ok(good.includes(from), from);
    await writeFile(file, good.replace(from, to));
    const { message, exitCode } = await refusal('./tally');
    assert.is(exitCode, 1);
    assert.match(message, why);
  }
  await rm(file);
  assert.match((await refusal('./tally')).message, /which its package.json names; it may have to be built first/);
  assert.equal({ entries: await entries(), digest: await digestOf(join(folder, 'cassettes/tally')) }, before);
  assert.equal(await installed(), ['tally']);
  assert.equal((await readdir(folder)).sort(), ['cassette.manifest.json', 'cassettes']);
});

test('what it says of itself cannot move the cursor or hide', async () => {
  await manifested('tally', (text) => text.replace('Lists sessions', '\\u001b[2J\\u202eLists\\r\\n sessions'));
  const { raw } = await add('./tally');
  assert.match(raw, 'Lists');
  assert.ok(!['\u202e', '\r'].some((sign) => raw.includes(sign)));
  const [, ...sequences] = raw.split('\u001b');
  assert.ok(
    sequences.every((text) => /^\[\d+m/.test(text)),
    'only colours of ours',
  );
});

test('what npm says is passed on, and our settings are not', async () => {
  const closed = 'http://127.0.0.1:9/';
  const { message } = await refusal('no-such-cassette@1.0.0', {
    env: { npm_config_registry: closed, npm_config_fetch_retries: '0' },
  });
  assert.match(message, /^Cannot install it: npm failed\n {2}npm error code ECONNREFUSED/);
  assert.equal(await installed(), []);
});

test('an address is asked once, and nothing is installed; its document is what is pinned', async () => {
  await begun('tally');
  const { default: cassette } = (await import(join(cwd, 'tally/dist/cassette.js'))) as {
    default: { fetch(request: Request, env: unknown): Promise<Response> };
  };
  const document = await (await cassette.fetch(new Request('http://x/openapi'), {})).text();
  let requests = 0;
  const answer: RequestListener = (request, response) => {
    requests++;
    if (request.url === '/moved') response.writeHead(302, { location: '/openapi' }).end();
    else if (request.url === '/large') response.end('x'.repeat(2 * 1024 * 1024));
    else if (request.url === '/page') response.end('<html>');
    else response.end(document);
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { out } = await add(`${origin}/openapi`, { name: 'far' });
    assert.is(requests, 1);
    assert.match(out, /^It runs elsewhere:\n {2}not kept from +anything: it runs elsewhere/m);
    const [entry] = await entries();
    assert.equal(entry?.grants, { bindings: [], views: [], extensions: [] });
    assert.is(entry?.source, `${origin}/openapi`);
    assert.match(entry?.digest ?? '', /^sha256:/);
    assert.equal(await installed(), []);

    assert.match((await refusal(`${origin}/moved`)).message, 'it answered 302, and redirects are not followed');
    assert.match((await refusal(`${origin}/large`)).message, 'it has more than 1 MiB');
    assert.match((await refusal(`${origin}/page`)).message, 'no JSON');
    const secret = await refusal(`${origin.replace('//', '//me:hunter2@')}/openapi`);
    assert.match(secret.message, 'its address holds a user or a password');
    assert.not.match(secret.message, 'hunter2');
    assert.match(
      (await refusal(`${origin}/openapi`, { isolation: 'inline' })).message,
      "Cannot run an address as 'inline'",
    );
  } finally {
    server.close();
  }
});

test('what is neither a package nor a folder, a tarball or an address is refused, with what would be', async () => {
  await begun('tally');
  await mkdir(join(cwd, 'empty'));
  await writeFile(join(cwd, 'one.mjs'), '');
  const cases: [string, RegExp][] = [
    ['./nowhere', /there is no '.*nowhere'$/],
    ['./empty', /no package\.json with a name and a version/],
    ['./one.mjs', /of files only tarballs are added/],
    ['git+ssh://x/y', /it is no package, folder, tarball or address; such as @acme\/summaries@1\.2\.0/],
    ['a@npm:b', /it is no package/],
    ['--version', /it is no package/],
    ['tally', /there is one here, and may be a package of that name; write '\.\/tally' or 'tally@latest'$/],
  ];
  for (const [what, why] of cases) {
    const { message, exitCode } = await refusal(what);
    assert.is(exitCode, 2, what);
    assert.match(message, why);
  }
});

test('a list that has an error is not written to', async () => {
  await begun('tally');
  await writeFile(join(cwd, 'cassette.manifest.json'), '{"cassettes": [}');
  assert.match((await refusal('./tally')).message, /cassette\.manifest\.json', line 1, column 16/);
  assert.is(await readFile(join(cwd, 'cassette.manifest.json'), 'utf8'), '{"cassettes": [}');
});

async function written(file: string, text = ''): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

test("in the author's folder, beside the service's own, the package is all but that", async () => {
  await begun('tally');
  const outside = cwd;
  [cwd, folder] = [join(outside, 'tally'), join(outside, 'tally/.svc')];
  try {
    await mkdir(folder);
    await writeFile(join(folder, 'config.toml'), 'secret');
    await rm(join(cwd, '.gitignore'));
    const { files: _, ...described } = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8'));
    await writeFile(join(cwd, 'package.json'), JSON.stringify(described));
    await truncate(await written(join(folder, 'journal/live.seg')), 200_000_000);
    const [bin, packed] = [join(outside, 'bin'), join(outside, 'packed.txt')];
    const listing = `npm "$@" || exit $?\n[ "$1" != pack ] || tar -tzf packed/*.tgz > "$PACKED"`;
    await chmod(await written(join(bin, 'npm'), `#!/bin/sh\nPATH="\${PATH#*:}"\n${listing}\n`), 0o755);
    const env = { PATH: `${bin}:${process.env.PATH}`, PACKED: packed };
    assert.is((await add('.', { env })).status, 0);
    const files = (await readFile(packed, 'utf8')).trim().split('\n');
    assert.ok(files.includes('package/package.json'));
    assert.equal(
      files.filter((file) => file.includes('.svc')),
      [],
      'npm itself has not packed it',
    );
    assert.equal((await readdir(folder)).sort(), ['cassette.manifest.json', 'cassettes', 'config.toml', 'journal']);
    const [entry] = await entries();
    const home = join(folder, 'cassettes/tally');
    assert.is(entry?.digest, await digestOf(home));
    const names = await readdir(join(home, 'node_modules/tally'));
    assert.ok(names.includes('dist') && names.includes('src') && !names.includes('.svc'), names.join());
  } finally {
    cwd = outside;
  }
});

test.run();
