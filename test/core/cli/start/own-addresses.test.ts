/** Is an address that a person has set for a harness found wherever the harness reads it, so that its key goes nowhere else? */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { StartContext } from '../../../../core/cli/start/harness/harness.ts';
import { startedHarness } from '../../../../core/cli/start/harness/harnesses.ts';
import { UPSTREAMS } from '../../../../core/provider/provider-ids.ts';

const test = suite('addresses of one’s own');
const KEY = { OPENAI_API_KEY: 'sk' };
const GATEWAY = 'https://gateway.example/v1';
const LOGIN = '"security":{"auth":{"selectedType":"gemini-api-key"}}';
let folder = '';
let home = '';
let project = '';
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-own-'));
  [home, project] = [join(folder, 'home'), join(folder, 'code/project')];
  mkdirSync(join(project, 'sub'), { recursive: true });
  mkdirSync(home);
});
test.after.each(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, content: string): string {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, content);
  return whole;
}

const openai = (address: string) => JSON.stringify({ provider: { openai: { options: { baseURL: address } } } });

/** What stands in the way of all or some of its calls; '' where all are recorded. */
function unrecorded(command: string, env: Record<string, string> = {}, more: Partial<StartContext> = {}): string {
  const launch = startedHarness(command).launch({
    ...{ proxy: 'http://127.0.0.1:4711', upstreams: UPSTREAMS, args: [], cwd: join(project, 'sub'), home },
    ...{ envelope: {}, writeFile: (name, content) => write(`run/${name}`, content), ...more },
    env: { OPENCODE_TEST_MANAGED_CONFIG_DIR: join(folder, 'etc'), ...env },
  });
  return 'unrecorded' in launch ? launch.unrecorded : launch.remarks.join('\n');
}

const COMMENTED = `\uFEFF// at work
{ "provider": { /* "openai": {} */ "openai": { "options": { "baseURL": "${GATEWAY}", }, // "//" is no comment
}, }, }`;

test('Claude Code: what settings set outranks its environment, so that svc sets it by --settings', () => {
  const set = (variables: object) => JSON.stringify({ env: variables });
  const launched = (more: Partial<StartContext> = {}) => {
    const launch = startedHarness('claude').launch({
      ...{
        proxy: 'http://127.0.0.1:4711',
        upstreams: UPSTREAMS,
        args: [],
        cwd: project,
        home,
        envelope: { 'x-svc': 'e' },
      },
      ...{ writeFile: (name, content) => write(`run/${name}`, content), managedFolder: join(folder, 'etc') },
      ...{ env: { ANTHROPIC_CUSTOM_HEADERS: 'x-own: process' }, ...more },
    });
    if ('unrecorded' in launch) throw new Error(launch.unrecorded);
    const [option = '', path = ''] = launch.args;
    return { ...launch, option, settings: path === '' ? null : JSON.parse(readFileSync(path, 'utf8')) };
  };
  const failed = (more: Partial<StartContext>, reason: string) =>
    assert.throws(
      () => launched(more),
      ({ message }: Error) => message.includes(reason),
      reason,
    );
  assert.is(launched().option, '');
  const base = 'http://127.0.0.1:4711/anthropic';
  const upstreams = { ...UPSTREAMS, anthropic: 'https://gateway.example' };
  const places = ['home/.claude.json', 'home/.claude/settings.json', 'code/project/.claude/settings.json'];
  for (const place of [...places, 'code/project/.claude/settings.local.json']) {
    const path = write(place, set({ ANTHROPIC_BASE_URL: 'https://gateway.example/' }));
    const { option, settings } = launched({ upstreams });
    assert.is(option, '--settings', place);
    assert.is(settings.env.ANTHROPIC_BASE_URL, base, place);
    failed({}, `in ${path} leads to gateway.example,`);
    failed({ upstreams, args: ['--settings={}'] }, `in ${path} outranks the environment`);
    writeFileSync(path, set({ ANTHROPIC_CUSTOM_HEADERS: 'x-own: file' }));
    assert.is(launched().settings.env.ANTHROPIC_CUSTOM_HEADERS, 'x-own: file\nx-svc: e', place);
    rmSync(path);
  }
  assert.is(launched({ args: ['--settings', '{"env":{"X":"1"}}'] }).option, '', 'it sets neither');
  const named = ['--settings', '{"env":{"ANTHROPIC_BASE_URL":"https://gateway.example"}}'];
  failed({ args: named }, 'in its --settings leads to gateway.example,');
  failed({ args: named, upstreams }, 'in its --settings outranks the environment');
  assert.is(launched({ args: ['--', ...named] }).option, '', 'what follows is a prompt');
});

test('Claude Code: what an administrator sets outranks svc', () => {
  const more = { managedFolder: join(folder, 'etc') };
  for (const name of ['managed-settings.json', 'managed-settings.d/10-gateway.json']) {
    const path = write(`etc/${name}`, '{"env":{"ANTHROPIC_BASE_URL":"https://api.anthropic.com"}}');
    assert.is(unrecorded('claude', {}, more), `ANTHROPIC_BASE_URL in ${path} outranks what svc sets`);
    writeFileSync(path, '{"env":{"CLAUDE_CODE_USE_VERTEX":"1"}}');
    assert.match(unrecorded('claude', {}, more), 'Google Vertex AI');
    writeFileSync(path, '{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:4711/anthropic"}}');
    assert.is(unrecorded('claude', {}, more), '', 'its address is that of svc');
    rmSync(path);
  }
  write('etc/managed-settings.json', '{"env":{"ANTHROPIC_CUSTOM_HEADERS":"x-own: 1"}}');
  const launch = startedHarness('claude').launch({
    ...{ proxy: 'http://127.0.0.1:4711', upstreams: UPSTREAMS, env: {}, args: [], cwd: home, home, envelope: {} },
    ...{ writeFile: write, ...more },
  });
  assert.is('env' in launch && launch.hasEnvelope, false, 'its calls are recorded without the envelope');
});

test('Codex: OPENAI_BASE_URL, which it reads no more, keeps no run from being recorded', () => {
  assert.is(unrecorded('codex', { OPENAI_BASE_URL: GATEWAY }), '');
});

test('Codex: a provider that a profile chooses is respected', () => {
  const azure = 'model_provider = "azure"\n';
  const provider = `[model_providers.azure]\nbase_url = "${GATEWAY}"\n`;
  const config = write('home/.codex/config.toml', `${provider}[profiles.work]\n${azure}[profiles.own]\nmodel = "x"`);
  const leads = "base_url of its provider 'azure' leads to gateway.example,";
  for (const args of [['-p', 'work'], ['exec', '--profile', 'work'], ['--profile=work'], ['-pwork']])
    assert.match(unrecorded('codex', {}, { args }), leads, args.join(' '));
  for (const args of [[], ['-p', 'own'], ['--', '-p', 'work']]) assert.is(unrecorded('codex', {}, { args }), '');
  assert.match(unrecorded('codex', {}, { args: ['-c', 'profile="work"'] }), 'its arguments choose');
  writeFileSync(
    config,
    `profile = "work"\n${provider}[profiles.work]\n${azure}[profiles.own]\nmodel_provider = "openai"`,
  );
  assert.match(unrecorded('codex'), leads);
  assert.is(unrecorded('codex', {}, { args: ['-p', 'own'] }), '');
  writeFileSync(config, 'model = "x"');
  write('home/.codex/work.config.toml', azure + provider);
  assert.match(unrecorded('codex', {}, { args: ['-p', 'work'] }), leads, 'of newer versions a file');
  assert.is(unrecorded('codex'), '');
});

test('opencode: comments and trailing commas hide no address, and a string is no comment', () => {
  for (const name of ['home/.config/opencode/opencode.jsonc', 'home/.config/opencode/opencode.json']) {
    const path = write(name, COMMENTED);
    assert.match(unrecorded('opencode', KEY), `provider.openai.options.baseURL in ${path} leads to gateway.example,`);
    rmSync(path);
  }
  assert.match(unrecorded('opencode', { ...KEY, OPENCODE_CONFIG_CONTENT: COMMENTED.slice(1) }), 'gateway.example');
  assert.is(unrecorded('opencode', KEY), '');
});

test('opencode: each of its places', () => {
  mkdirSync(join(project, '.git'));
  const places = [
    ...['home/.config/opencode/config.json', 'code/project/opencode.json', 'code/project/sub/opencode.jsonc'],
    ...['code/project/.opencode/opencode.json', 'code/project/sub/.opencode/opencode.jsonc'],
    ...['home/.opencode/opencode.json', 'own/folder/opencode.json', 'own/file.json', 'etc/opencode.jsonc'],
  ];
  const env = { ...KEY, OPENCODE_CONFIG: '../../../own/file.json', OPENCODE_CONFIG_DIR: join(folder, 'own/folder') };
  for (const place of places) {
    const path = write(place, openai(GATEWAY));
    assert.match(unrecorded('opencode', env), `baseURL in ${path} leads to gateway.example,`, place);
    rmSync(path);
  }
  const outside = write('code/opencode.json', openai(GATEWAY));
  assert.is(unrecorded('opencode', KEY), '', 'outside of the repository');
  rmSync(join(project, '.git'), { recursive: true });
  assert.match(unrecorded('opencode', KEY), 'gateway.example', 'there is no repository');
  rmSync(outside);
  const byModel = JSON.stringify({ provider: { openai: { api: GATEWAY } } });
  assert.match(unrecorded('opencode', { ...KEY, OPENCODE_CONFIG_CONTENT: byModel }), 'provider.openai.api in');
  assert.match(unrecorded('opencode', { ...KEY, OPENAI_BASE_URL: GATEWAY }), 'OPENAI_BASE_URL leads to gateway');
});

test('opencode: of two addresses the one counts that it takes itself', () => {
  const inProject = write('code/project/opencode.json', openai('https://api.openai.com/v1'));
  write('home/.config/opencode/opencode.json', openai(GATEWAY));
  assert.is(unrecorded('opencode', KEY), '');
  assert.match(unrecorded('opencode', { ...KEY, OPENCODE_DISABLE_PROJECT_CONFIG: '1' }), 'gateway.example');
  write('etc/opencode.json', openai('https://managed.example/v1'));
  assert.match(unrecorded('opencode', KEY), 'managed.example');
  write('etc/opencode.json', openai('https://api.openai.com/v1'));
  assert.match(
    unrecorded('opencode', KEY),
    'outranks what svc sets',
    'also where it is the address that svc forwards to',
  );
  rmSync(join(folder, 'etc'), { recursive: true });
  writeFileSync(inProject, '');
  assert.match(unrecorded('opencode', KEY), 'gateway.example', 'an empty file sets nothing');
  write('home/.local/share/opencode/auth.json', '{"https://acme.example":{"type":"wellknown"}}');
  assert.match(unrecorded('opencode', KEY), 'settings from its organization');
});

test('pi and Gemini CLI: comments hide no address and no login; of pi a single model may have one', () => {
  write('home/.pi/agent/models.json', `{ "providers": { "openai": { "baseUrl": "${GATEWAY}" } } } // at work`);
  assert.match(unrecorded('pi'), "pi's calls to openai: baseUrl of openai in");
  const model = `{ "providers": { "google": { "models": [{ "id": "x", "baseUrl": "https://own.example" }] } } }`;
  write('home/.pi/agent/models.json', model);
  assert.match(unrecorded('pi'), 'leads to own.example');
  write('home/.gemini/settings.json', `{ /* by /auth */ ${LOGIN.replace('gemini-api-key', 'vertex-ai')} }`);
  assert.match(unrecorded('gemini'), 'Google Vertex AI');
});

test('a settings file that cannot be read is named with the reason, and quoted nowhere', () => {
  const broken = '{ "apiKey": "sk-secret" "x": 1 }';
  const files: [command: string, path: string, content: string, why: RegExp][] = [
    ['opencode', 'home/.config/opencode/opencode.json', broken, /it is not a JSON object$/],
    ['opencode', 'home/.local/share/opencode/auth.json', '["sk-secret"]', /it is not a JSON object$/],
    ['pi', 'home/.pi/agent/models.json', '{} /* sk-secret /*/ /*/', /it is not a JSON object$/],
    ['gemini', 'home/.gemini/settings.json', broken, /it is not a JSON object$/],
    ['claude', 'home/.claude/settings.json', broken, /it is not a JSON object$/],
    ['codex', 'home/.codex/config.toml', 'a = 1\nkey = sk-secret', /it is not TOML, in line 2$/],
    ['codex', 'home/.codex/auth.json', broken, /it is not a JSON object$/],
  ];
  for (const [command, name, content, why] of files) {
    const path = write(name, content);
    assert.throws(
      () => unrecorded(command, KEY),
      ({ message }: Error) =>
        why.test(message) &&
        message.startsWith(`Cannot read the settings in '${path}': `) &&
        !message.includes('sk-secret'),
      name,
    );
    rmSync(path);
  }
  mkdirSync(join(home, '.config/opencode/opencode.json'), { recursive: true });
  assert.throws(() => unrecorded('opencode', KEY), /Cannot use '[^']+opencode\.json': it /);
});

test('a settings file that cannot be opened is named, with the reason', () => {
  const path = write('home/.pi/agent/models.json', '{}');
  rmSync(path);
  symlinkSync(path, path); // that this user may not read it would not stop root
  assert.throws(() => unrecorded('pi'), /^Cannot use '[^']+models\.json': it .*ELOOP/);
  rmSync(path);
});

test('Gemini CLI: an address in the first .env file, from the working folder up and then at home', () => {
  write('home/.gemini/settings.json', `{${LOGIN}}`);
  const set = `# at work\nexport GOOGLE_GEMINI_BASE_URL="${GATEWAY}" # over http\n`;
  const places = ['home/.env', 'home/.gemini/.env', 'code/.env', 'code/project/.env', 'code/project/sub/.gemini/.env'];
  for (const place of places) {
    const path = write(place, set);
    assert.match(unrecorded('gemini'), `GOOGLE_GEMINI_BASE_URL in ${path} leads to gateway.example,`, place);
    rmSync(path);
  }
  const outer = write('code/.env', set);
  assert.is(
    unrecorded('gemini', { GOOGLE_GEMINI_BASE_URL: '' }),
    '',
    'a variable outranks the file, also an empty one',
  );
  write('code/project/.env', 'OTHER=1');
  assert.is(unrecorded('gemini'), '', 'only the first file counts');
  assert.is(unrecorded('gemini', {}, { args: ['--', '--ignore-env'] }), '');
  rmSync(outer);
  write('home/.gemini/.env', set);
  assert.match(unrecorded('gemini', {}, { args: ['--ignore-env'] }), 'gateway.example', 'it passes over the project’s');
  write('home/.gemini/settings.json', `{${LOGIN},"advanced":{"ignoreLocalEnv":true}}`);
  assert.match(unrecorded('gemini'), 'gateway.example');
});

test('Gemini CLI: the login and the headers of its .env file stay', () => {
  const path = write('home/.env', 'GOOGLE_GENAI_USE_VERTEXAI=true');
  assert.match(unrecorded('gemini'), 'Google Vertex AI');
  writeFileSync(path, 'GEMINI_CLI_CUSTOM_HEADERS=x-own: 1');
  write('home/.gemini/settings.json', `{${LOGIN}}`);
  const launch = startedHarness('gemini').launch({
    ...{ proxy: 'http://127.0.0.1:4711', upstreams: UPSTREAMS, env: {}, args: [], cwd: home, home },
    ...{ envelope: {}, writeFile: write },
  });
  assert.match('env' in launch ? (launch.env.GEMINI_CLI_CUSTOM_HEADERS ?? '') : '', /^x-own: 1, x-svc-harness-id: /);
});

test('Gemini CLI: the settings of an administrator outrank, and the defaults beside them are outranked', () => {
  const login = (type: string) => `{"security":{"auth":{"selectedType":"${type}"}}}`;
  const env = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: join(folder, 'etc/settings.json') };
  write('etc/system-defaults.json', login('vertex-ai'));
  assert.match(unrecorded('gemini', env), 'Google Vertex AI');
  write('own/defaults.json', login('cloud-shell'));
  assert.match(
    unrecorded('gemini', { ...env, GEMINI_CLI_SYSTEM_DEFAULTS_PATH: join(folder, 'own/defaults.json') }),
    'Cloud Shell',
  );
  write('home/.gemini/settings.json', login('gemini-api-key'));
  write('code/project/sub/.gemini/settings.json', login('gemini-api-key'));
  assert.is(unrecorded('gemini', env), '');
  write('etc/settings.json', login('oauth-personal'));
  assert.match(unrecorded('gemini', env), 'logged in with Google');
  write('etc/settings.json', '{"advanced":{"ignoreLocalEnv":true}}');
  write('code/project/.env', `GOOGLE_GEMINI_BASE_URL=${GATEWAY}`);
  assert.is(unrecorded('gemini', env), '');
});

test('any other command: an address in a .env file of its repository, which the environment outranks', () => {
  mkdirSync(join(project, '.git'));
  const set = `# at work\nexport OPENAI_BASE_URL="${GATEWAY}"\n`;
  for (const place of ['code/project/.env', 'code/project/sub/.env']) {
    const path = write(place, set);
    assert.match(unrecorded('python'), `OPENAI_BASE_URL in ${path} leads to gateway.example,`, place);
    assert.is(unrecorded('python', { OPENAI_BASE_URL: '' }), '', 'a library leaves a variable that is set as it is');
    assert.is(unrecorded('python', {}, { upstreams: { ...UPSTREAMS, openai: 'https://gateway.example' } }), '');
    rmSync(path);
  }
  write('code/.env', set);
  assert.is(unrecorded('python'), '', 'outside of the repository');
  mkdirSync(join(project, '.env'));
  assert.is(unrecorded('python'), '', 'a virtual environment');
  rmSync(join(project, '.git'), { recursive: true });
  assert.match(unrecorded('python'), 'gateway.example', 'there is no repository');
});

test.run();
