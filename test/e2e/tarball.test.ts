/** Can svc be installed from one file, on a machine without the web and with an empty cache of npm? And does what is installed work? */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, posix, resolve } from 'node:path';
import { promisify } from 'node:util';
import { extract, list } from 'tar';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTarball } from '../../core/deploy/write-tarball.ts';
import { packageRoot } from '../../core/package-root.ts';
import { builtProgram } from '../support/built-service.ts';
import type { Json } from '../support/read-api.ts';
import { emptyFolder, eventually, read, removeFolder, startService } from '../support/serve.ts';

type Stand = {
  folder: string;
  dist: string;
  tarball: string;
  files: string[];
  web: Server;
  requests: string[];
  app: string;
};
const test = suite<Stand>('the tarball');
const run = promisify(execFile);

test.before(async (context) => {
  const folder = await emptyFolder();
  const requests: string[] = [];
  const web = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(500).end();
  });
  web.on('connect', (request, socket) => {
    requests.push(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((listening) => web.listen(0, '127.0.0.1', listening));
  const program = await builtProgram(join(folder, 'svc'));
  const dist = resolve(program, '../../..');
  const tarball = join(folder, 'svc.tgz');
  await writeTarball({ root: packageRoot(), dist }, tarball, 1);
  const files: string[] = [];
  await list({ file: tarball, onReadEntry: ({ type, path }) => void (type === 'File' && files.push(path)) });
  Object.assign(context, { folder, dist, tarball, files, web, requests, app: join(folder, 'app') });
});
test.after(async ({ folder, web }) => {
  web.close();
  await removeFolder(folder);
});

test('it holds what runs, the packages that this needs, and their licences; no tests, no sources, no tools', ({
  files,
}) => {
  const ours = files.filter((path) => !path.startsWith('package/node_modules/'));
  const tops = new Set(ours.map((path) => path.split('/')[1]));
  assert.equal(
    [...tops].sort(),
    [
      ...[
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'THIRD-PARTY.md',
        'cassette.manifest.json',
        'cassettes',
        'core',
        'dist',
      ],
      ...['ingest', 'migrations', 'package.json', 'proxy'],
    ].sort(),
  );
  const sources = ours.filter((path) => /\.(ts|map)$/.test(path) && !path.includes('/scaffold/'));
  assert.equal(
    sources,
    ['package/core/cassette/contract.ts'],
    'the types of a cassette, which svc cassette new copies',
  );
  const compiled = ours.filter((path) => /^package\/dist\/(?!bundle\/|core\/web\/assets\/).*\.js$/.test(path));
  const withoutSource = compiled.filter((path) => {
    const source = join(packageRoot(), path.slice('package/dist/'.length, -'.js'.length));
    return !['ts', 'tsx', 'js'].some((kind) => existsSync(`${source}.${kind}`));
  });
  assert.ok(compiled.length > 1_000, `${compiled.length} compiled files`);
  assert.equal(withoutSource, [], 'each compiled file has its source');
  for (const pattern of [
    /\/main-\w+\.js$/,
    /\/main-\w+\.js\.br$/,
    /\/main-\w+\.js\.gz$/,
    /\/licenses-\w+\.txt$/,
    /\/manifest\.json$/,
  ])
    assert.ok(
      ours.some((path) => path.startsWith('package/dist/core/web/assets/') && pattern.test(path)),
      `the web UI: ${pattern}`,
    );
  const templates = ours.filter((path) => path.startsWith('package/dist/core/db/template/'));
  assert.is(templates.length, 1, 'the template of the database');
  const clientSources = ours.filter((path) => /^package\/(?:dist\/)?core\/web\/client|\.tsx$/.test(path));
  assert.equal(clientSources, [], 'of its sources nothing');
  for (const tool of [
    'typescript',
    'tsx',
    '@biomejs/biome',
    '@img/sharp-linux-x64',
    'sharp/lib',
    '@scarf/scarf/report.js',
  ])
    assert.not.ok(
      files.some((path) => path.startsWith(`package/node_modules/${tool}`)),
      tool,
    );
  for (const name of ['@xenova/transformers', 'swagger-ui-dist', 'hono', 'zod'])
    assert.ok(files.includes(`package/node_modules/${name}/LICENSE`), name);
});

test("npm's list of svc's own files is the same, so that no way of packing takes what lies about", async ({
  folder,
  dist,
  files,
}) => {
  const root = packageRoot();
  const clone = join(folder, 'clone');
  const { stdout: tracked } = await run('git', ['ls-files', '-z'], { cwd: root, maxBuffer: 1 << 26 });
  for (const path of tracked.split('\0').filter((path) => path !== '' && existsSync(join(root, path))))
    await cp(join(root, path), join(clone, path));
  await cp(dist, join(clone, 'dist'), { recursive: true });
  for (const path of ['notes.txt', 'core/notes.txt.ts', '.svc/data/x', 'test/x.js', 'svc-0.0.1.tgz']) {
    await mkdir(join(clone, path, '..'), { recursive: true });
    await writeFile(join(clone, path), 'lies about');
  }
  const env = { PATH: process.env.PATH, HOME: folder };
  const args = ['pack', '--dry-run', '--ignore-scripts', '--json', '--offline'];
  const { stdout } = await run('npm', args, { cwd: clone, env, maxBuffer: 1 << 26 });
  const [packed] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const listed = packed.files.map(({ path }) => path);
  const ours = files.map((path) => path.slice('package/'.length)).filter((path) => !path.startsWith('node_modules/'));
  const missing = ours.filter((path) => !listed.includes(path));
  const foreign = listed.filter((path) => !ours.includes(path));
  assert.equal({ missing, foreign }, { missing: ['THIRD-PARTY.md'], foreign: [] });
});

test('the text of a licence is there for each package, with whose it is also for those that were published without it', async ({
  folder,
  tarball,
  files,
}) => {
  await extract({ file: tarball, cwd: folder }, ['package/THIRD-PARTY.md']);
  const [own = '', added = ''] = (await readFile(join(folder, 'package/THIRD-PARTY.md'), 'utf8')).split(/^Some were /m);
  const packages = [...own.matchAll(/^- (\S+) \S+: /gm)].map(([, name]) => name);
  assert.ok(packages.length > 100, `${packages.length} packages`);
  const bare = packages.filter(
    (name) => !files.some((path) => new RegExp(`/node_modules/${name}/((un)?licen[cs]e|copying)`, 'i').test(path)),
  );
  assert.equal(bare, []);
  const names = (added.split(': ').at(-1) ?? '').replace(/\.\s*$/, '').split(', ');
  assert.ok(names.length > 4, added);
  await extract(
    { file: tarball, cwd: folder },
    names.map((name) => `package/node_modules/${name}/LICENSE`),
  );
  for (const name of names) {
    const text = await readFile(join(folder, `package/node_modules/${name}/LICENSE`), 'utf8');
    const [line = ''] = text.match(/^Copyright .*$/im) ?? [];
    if (text.includes('released into the public domain')) assert.is(line, '', name);
    else assert.match(line, /^Copyright \(c\) (?!<|\[)\S/, name);
    assert.not.match(text, /Copyright \(c\) .*(?:<|Internet Systems)/, name);
    assert.ok(text.length > 500, name);
  }
});

test('the documents lead nowhere but to files that it holds', async ({ folder, tarball, files }) => {
  const documents = files.filter((path) => path.endsWith('.md') && !path.startsWith('package/node_modules/'));
  assert.ok(documents.length > 8, documents.join(', '));
  await extract({ file: tarball, cwd: folder }, documents);
  const broken: string[] = [];
  for (const path of documents.filter((document) => !document.endsWith('THIRD-PARTY.md')))
    for (const [, target = ''] of (await readFile(join(folder, path), 'utf8')).matchAll(/\]\(([^)#\s]+)[^)\s]*\)/g)) {
      const leadsTo = posix.join(posix.dirname(path), target);
      if (!/^https?:/.test(target) && !files.includes(leadsTo)) broken.push(`${path}: ${target}`);
    }
  assert.equal(broken, []);
});

test('npm installs it offline, on an empty cache, and nothing is fetched', async ({
  folder,
  tarball,
  requests,
  web,
  app,
}) => {
  await mkdir(app);
  await writeFile(join(app, 'package.json'), '{"private":true}');
  const way = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, npm_config_cache: join(folder, 'cache'), npm_config_registry: way },
    npm_config_update_notifier: 'false', // else npm looks whether there is a newer npm
    ...{ HTTP_PROXY: way, HTTPS_PROXY: way, http_proxy: way, https_proxy: way, npm_config_proxy: way },
  };
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: app, env });
  // as the README has it: npm then fetches whatever is bundled without being asked for
  const globally = ['install', '--global', '--prefix', join(folder, 'global'), '--offline', '--no-audit', '--no-fund'];
  await run('npm', [...globally, tarball], { cwd: folder, env });
  const { stdout } = await run(join(folder, 'global/bin/svc'), ['--version'], { cwd: folder, env });
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  assert.equal(requests, []);
  const installed = await readFile(join(app, 'node_modules/.package-lock.json'), 'utf8');
  const { packages } = JSON.parse(installed) as { packages: Record<string, { resolved?: string }> };
  for (const [path, { resolved = '' }] of Object.entries(packages)) assert.not.match(resolved, /^https?:/, path);
});

test('the command says its version', async ({ app, folder }) => {
  const { version } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  const env = { PATH: process.env.PATH, HOME: folder };
  const { stdout } = await run(join(app, 'node_modules/.bin/svc'), ['--version'], { cwd: folder, env });
  assert.is(stdout.trim(), version);
});

test('the commands that set it up, and the program for a status bar', async ({ app, folder }) => {
  const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', SVC_CLIENT_API_TARGET: 'http://127.0.0.1:1' };
  const cwd = join(folder, 'settings');
  await mkdir(cwd);
  const svc = async (...args: string[]) => (await run(join(app, 'node_modules/.bin/svc'), args, { cwd, env })).stdout;
  assert.match(await svc('init', '--preset', 'anthropic'), 'config.toml');
  await svc('config', 'set', 'proxy.listen', ':9');
  assert.is(await svc('config', 'get', 'proxy.listen'), ':9\n');
  assert.match(await svc('config', 'list', '--changed'), /^proxy\.provider +"anthropic"/m);
  assert.match(await svc('version'), await realpath(join(app, 'node_modules/@svc-capture/svc')));
  assert.match(await svc('completion', 'bash'), 'complete -F _svc svc');
  assert.match(await svc('help', 'config', 'set'), 'Usage: svc config set');
  const statusline = run(join(app, 'node_modules/.bin/svc-statusline'), [], { cwd, env });
  statusline.child.stdin?.end('{"session_id":"a"}');
  assert.is((await statusline).stdout, 'svc: not recorded\n');
});

test('the command makes a cassette', async ({ app, folder }) => {
  const env = { PATH: process.env.PATH, HOME: folder };
  await run(join(app, 'node_modules/.bin/svc'), ['cassette', 'new', 'weather'], { cwd: folder, env });
  const types = await readFile(join(folder, 'weather/src/svc-cassette.ts'), 'utf8');
  assert.is(types, await readFile(join(packageRoot(), 'core/cassette/contract.ts'), 'utf8'));
});

test('what was installed serves, shows its contract, and searches by meaning', async ({ app, folder }) => {
  const { name } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8')) as { name: string };
  const program = join(app, 'node_modules', name, 'dist/core/cli/main.js');
  const service = await startService(join(folder, 'app'), { SVC_CASSETTES_BUILT_IN: 'true' }, [program]);
  try {
    assert.is((await fetch(`${service.api}/swagger`)).status, 200);
    assert.is((await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' })).status, 200);
    let last = '';
    await eventually(
      'five hits',
      async () => {
        const response = await fetch(`${service.api}/v1/cassettes/search/spans?query=time%20zone`);
        last = await response.text();
        return response.ok && (JSON.parse(last) as Json).count === 5;
      },
      90_000,
    ).catch((error: Error) => {
      throw new Error(`${error.message}; the last answer: ${last.slice(0, 500)}`);
    });
    assert.is((await read<Json>(`${service.api}/v1/cassettes`)).problems.length, 0);
    const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), NO_COLOR: '1' };
    const typed = async (...args: string[]) => {
      const { stdout } = await run(process.execPath, [program, ...args], { cwd: join(folder, 'app'), env });
      return stdout;
    };
    assert.is(JSON.parse(await typed('sessions', '--json')).items.length, 12);
    assert.match(await typed('sessions', 'show', '1'), /^── 1 ──/m);
    // the index of words fills beside that of meanings, and a command that finds nothing may fail
    await eventually('the words in the index', async () =>
      /^\d+ +16dd8bce /m.test(await typed('find', 'midnight').catch(() => '')),
    );
    assert.match(await typed('cassette', 'run', 'search', 'find-spans', '--query', 'time zone'), '"count": 5');
    assert.match(await typed('doctor', '--offline'), /^✓ recording by ingest: /m);
    assert.match(await typed('sync'), /no transcripts in /);
    await typed('backup', '-o', join(folder, 'app.svc'));
    assert.ok(existsSync(join(folder, 'app.svc')));
    assert.match(await typed('verify'), /all as written/);
    await typed('start', process.execPath, '-e', '0');
  } finally {
    assert.is(await service.stop(), 0, service.log());
  }
});

test('npm pack, whose tarball would fetch, says what to use instead', async () => {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  const failed = await run('npm', ['pack', '--dry-run'], { cwd: packageRoot(), env }).catch((error: Error) => error);
  assert.match(String((failed as { stderr?: string }).stderr), 'npm run tarball');
});

test.run();
