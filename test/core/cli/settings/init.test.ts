import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PRESETS } from '../../../../core/cli/settings/presets.ts';
import { configTemplate } from '../../../../core/cli/settings/template.ts';
import { keys } from '../../../../core/config/keys.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { svcIn } from '../../../support/run-program.ts';

const test = suite('svc init');
let base = '';
let cwd = '';
let home = '';
test.before.each(() => {
  base = mkdtempSync(join(tmpdir(), 'svc-init-'));
  cwd = join(base, 'project');
  home = join(base, 'home');
  mkdirSync(cwd);
  mkdirSync(home);
});
test.after.each(() => rmSync(base, { recursive: true, force: true }));

const file = (folder = cwd) => join(folder, '.svc', 'config.toml');
const init = (...args: string[]) => svcIn({ cwd, home }, 'init', ...args);
const config = () => loadConfig({ flags: {}, env: {}, cwd, home }).config;
const loaded = () => loadConfig({ flags: {}, env: {}, cwd, home });

test('every setting stands in the file with its meaning, commented out at its default', async () => {
  const { status, out, err } = await init();
  assert.equal([status, out, err], [0, `Wrote ${file()}\n`, "'svc serve' starts the service\n"]);
  assert.is(statSync(file()).mode & 0o777, 0o600);
  const defaults = config();
  const { source } = loaded();
  assert.equal(
    Object.entries(source)
      .filter(([, from]) => from !== 'default')
      .map(([key]) => key),
    ['version'],
  );

  const live = readFileSync(file(), 'utf8').replace(/^# ([a-z_]+ = .*)$/gm, '$1');
  for (const { path, description } of keys) {
    assert.ok(live.includes(description) || path === 'version', path);
    const value = path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[name], parse(live));
    assert.is.not(value, undefined, path);
  }
  writeFileSync(file(), live.replace(/^(?=\w+ = \w+ {2}# not set)/gm, '# '));
  assert.equal(config(), defaults);
});

test('what is set later stands below its explanation', async () => {
  await init();
  await svcIn({ cwd, home }, 'config', 'set', 'proxy.listen', ':9');
  assert.is(
    readFileSync(file(), 'utf8'),
    configTemplate().replace('# listen = ":8080"\n', '# listen = ":8080"\nlisten = ":9"\n'),
  );
});

test('git sees nothing of the folder', async () => {
  await init();
  execFileSync('git', ['init', '--quiet'], { cwd });
  writeFileSync(join(cwd, '.svc', 'recording'), 'prompt');
  assert.is(execFileSync('git', ['status', '--porcelain'], { cwd }).toString(), '');
});

test('an existing file is not overwritten, unless that is wanted', async () => {
  mkdirSync(join(cwd, '.svc'));
  writeFileSync(file(), '# mine\n');
  const { status, err } = await init();
  assert.is(status, 1);
  assert.match(err, /^Cannot write '.*config\.toml': it is there already; .*--force/);
  assert.is(readFileSync(file(), 'utf8'), '# mine\n');
  assert.is((await init('--force')).status, 0);
  assert.is(readFileSync(file(), 'utf8'), configTemplate());
});

test('each preset makes a file that the service can start with', async () => {
  for (const { name } of PRESETS) assert.is((await init('--force', '--preset', name)).status, 0, name);
  await init('--force', '--preset', 'anthropic');
  assert.is(config().proxy.provider, 'anthropic');
  const { status, out, err } = await init('--force', '--preset', 'team,gemini');
  assert.is(status, 0);
  const { proxy, api, ingest } = config();
  assert.equal(
    [proxy.provider, proxy.listen, api.listen, ingest.listen],
    ['gemini', '0.0.0.0:8080', '0.0.0.0:8081', ':8082'],
  );
  assert.ok(api.token.length >= 32);
  assert.not.ok((out + err).includes(api.token));
  assert.match(err, 'svc config set storage.postgres_dsn');
  chmodSync(file(), 0o644);
  assert.not.match((await init('--force', '--preset', 'local')).err, 'Others could read');
  assert.is(statSync(file()).mode & 0o777, 0o644, 'no secret is in it');
  assert.match(
    (await init('--force', '--preset', 'team')).err,
    `Others could read ${file()}; now that a secret is in it`,
  );
  assert.is(statSync(file()).mode & 0o777, 0o600);
  assert.is.not(config().api.token, api.token);
});

test('an unknown preset: status 2, with what was likely meant, and nothing is written', async () => {
  const { status, err } = await init('--preset', 'antropic');
  assert.equal(
    [status, err],
    [2, "Cannot start with 'antropic': there is no such preset; did you mean 'anthropic'?\n"],
  );
  assert.not.ok(existsSync(join(cwd, '.svc')));
});

test('in the home folder; and what no longer counts here is named', async () => {
  assert.is((await init('--home')).out, `Wrote ${file(home)}\n`);
  assert.match((await init('--json')).err, `${file(home)} no longer does`);
  assert.ok(existsSync(file()));
});

test.run();
