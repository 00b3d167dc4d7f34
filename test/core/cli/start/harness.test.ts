/** What environment and arguments does each harness get, and when is it left alone? */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { envelopeHeaders, newRun } from '../../../../core/cli/start/envelope.ts';
import type { Launch, StartContext } from '../../../../core/cli/start/harness/harness.ts';
import { startedHarness } from '../../../../core/cli/start/harness/harnesses.ts';
import { UPSTREAMS } from '../../../../core/provider/provider-ids.ts';

const test = suite('the environments of svc start');
const PROXY = 'http://127.0.0.1:4711';
let home = '';
test.before.each(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-harness-'));
});
test.after.each(() => rmSync(home, { recursive: true, force: true }));

function write(name: string, content: string): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

const context = (env: Record<string, string>, more: Partial<StartContext>): StartContext => ({
  ...{ proxy: PROXY, upstreams: UPSTREAMS, env, args: [], cwd: '/home/ada/a b', home },
  ...{ envelope: envelopeHeaders(newRun(), '/home/ada/a b'), writeFile: write },
  ...more,
});

function launched(command: string, env: Record<string, string> = {}, more: Partial<StartContext> = {}): Launch {
  const launch = startedHarness(command).launch(context(env, more));
  if ('unrecorded' in launch) throw new Error(launch.unrecorded);
  return launch;
}

function unrecorded(command: string, env: Record<string, string> = {}, more: Partial<StartContext> = {}): string {
  const launch = startedHarness(command).launch(context(env, more));
  return 'unrecorded' in launch ? launch.unrecorded : 'recorded';
}

test('Claude Code gets the address, the envelope after its own headers, and back what a base URL turns off', () => {
  const { env, args } = launched('claude', { ANTHROPIC_CUSTOM_HEADERS: 'x-own: 1' });
  assert.is(env.ANTHROPIC_BASE_URL, `${PROXY}/anthropic`);
  assert.is(env._CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL, '1');
  assert.is(env.ENABLE_TOOL_SEARCH, 'true');
  const [own, cwd, metadata] = (env.ANTHROPIC_CUSTOM_HEADERS ?? '').split('\n');
  assert.equal([own, cwd], ['x-own: 1', 'x-svc-cwd: %2Fhome%2Fada%2Fa%20b']);
  assert.match(metadata ?? '', /^x-svc-harness-metadata: [\w-]+$/);
  assert.equal(args, []);
});

test('what a person has switched off stays off, and a gateway behind the proxy is not taken for Anthropic', () => {
  assert.not.ok('ENABLE_TOOL_SEARCH' in launched('claude', { ENABLE_TOOL_SEARCH: 'false' }).env);
  const gateway = { ...UPSTREAMS, anthropic: 'https://gateway.example' };
  const { env } = launched('claude', {}, { upstreams: gateway });
  assert.equal(Object.keys(env), ['ANTHROPIC_BASE_URL', 'ANTHROPIC_CUSTOM_HEADERS']);
});

test('an address of one’s own is respected, unless the proxy forwards to just that', () => {
  const own = { ANTHROPIC_BASE_URL: 'https://user:secret@gateway.example/v1/' };
  assert.match(
    unrecorded('claude', own),
    /^ANTHROPIC_BASE_URL leads to gateway\.example, and svc would forward to api\.anthropic\.com; /,
  );
  assert.not.match(unrecorded('claude', own), 'secret');
  const same = { ...UPSTREAMS, anthropic: 'https://gateway.example/llm' };
  const at = { ANTHROPIC_BASE_URL: 'https://gateway.example/llm/' };
  assert.is(launched('claude', at, { upstreams: same }).env.ANTHROPIC_BASE_URL, `${PROXY}/anthropic`);
  for (const already of ['https://api.anthropic.com', `${PROXY}/anthropic`, 'http://localhost:4711/anthropic', ''])
    assert.ok(launched('claude', { ANTHROPIC_BASE_URL: already }), already);
});

test('of two addresses on one host the paths are shown, and of one path the protocols; never a password', () => {
  const upstreams = { ...UPSTREAMS, anthropic: 'http://gateway.example:4000/team-a' };
  const shown = (own: string) => /leads to (\S+), and svc would forward to (\S+);/.exec(own)?.slice(1);
  const to = (address: string) => shown(unrecorded('claude', { ANTHROPIC_BASE_URL: address }, { upstreams }));
  const [host, path] = ['gateway.example:4000', 'gateway.example:4000/team-a'];
  assert.equal(to('http://ada:secret@gateway.example:4000/team-b/'), [`${host}/team-b`, path]);
  assert.equal(to('http://gateway.example:4000'), [host, path]);
  assert.equal(to('https://gateway.example:4000/team-a'), [`https://${path}`, `http://${path}`]);
});

test('Claude Code on another cloud is left alone, also where its settings say so', () => {
  assert.match(unrecorded('claude', { CLAUDE_CODE_USE_BEDROCK: '1' }), 'Amazon Bedrock');
  assert.is(unrecorded('claude', { CLAUDE_CODE_USE_BEDROCK: '0' }), 'recorded');
  const path = write('.claude/settings.json', '{"env":{"ANTHROPIC_BASE_URL":"https://other.example"}}');
  assert.match(unrecorded('claude'), `ANTHROPIC_BASE_URL in ${path} leads to other.example`);
});

test('Codex: with a stored key its own provider moves, with OPENAI_API_KEY alone it gets one', () => {
  const alone = launched('codex', { OPENAI_API_KEY: 'sk' }).args;
  assert.ok(alone.includes('model_provider="svc"'));
  assert.ok(alone.includes(`model_providers.svc.base_url="${PROXY}/openai/v1"`));
  assert.ok(alone.includes('model_providers.svc.supports_websockets=true'));
  write('.codex/auth.json', '{"auth_mode":"apikey","OPENAI_API_KEY":"sk-1"}');
  assert.equal(launched('codex').args, ['-c', `openai_base_url="${PROXY}/openai/v1"`]);
});

test('Codex: a ChatGPT login and a provider of one’s own are left alone', () => {
  write('.codex/auth.json', '{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"access_token":"t"}}');
  assert.match(unrecorded('codex', { OPENAI_API_KEY: 'sk' }), 'logged in with ChatGPT');
  assert.match(unrecorded('codex', { CODEX_HOME: join(home, 'none') }, { args: ['--oss'] }), 'arguments');
  write(
    '.codex/config.toml',
    'model_provider = "acme"\n[model_providers.acme]\nbase_url = "https://acme.example/v1"\n',
  );
  assert.match(unrecorded('codex'), "base_url of its provider 'acme' leads to acme.example");
});

test('opencode: the providers that have a key, laid over the configuration of its variable', () => {
  const ownConfig = JSON.stringify({ model: 'openai/gpt-5', provider: { openai: { options: { timeout: 1 } } } });
  const { env } = launched('opencode', { OPENAI_API_KEY: 'sk', OPENCODE_CONFIG_CONTENT: ownConfig });
  const { model, provider } = JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '');
  assert.equal([model, Object.keys(provider)], ['openai/gpt-5', ['openai']]);
  const { timeout, baseURL, headers } = provider.openai.options;
  assert.equal([timeout, baseURL, headers['x-svc-cwd']], [1, `${PROXY}/openai/v1`, '%2Fhome%2Fada%2Fa%20b']);
  write('.local/share/opencode/auth.json', '{"anthropic":{"type":"oauth"}}');
  assert.match(launched('opencode', { OPENAI_API_KEY: 'sk' }).remarks.join(), "opencode's calls to anthropic");
  assert.match(unrecorded('opencode', { OPENCODE_CONFIG_CONTENT: '{ // comment' }), 'not plain JSON');
});

test('Gemini CLI: with a key, and not with a Google login or without a choice', () => {
  assert.match(unrecorded('gemini', { GEMINI_API_KEY: 'k' }), 'choose no login');
  write('.gemini/settings.json', '{"security":{"auth":{"selectedType":"gemini-api-key"}}}');
  const { env } = launched('gemini', { GEMINI_CLI_CUSTOM_HEADERS: 'x-own: 1' });
  assert.is(env.GOOGLE_GEMINI_BASE_URL, `${PROXY}/gemini`);
  assert.match(env.GEMINI_CLI_CUSTOM_HEADERS ?? '', /^x-own: 1, x-svc-harness-id: gemini-cli, x-svc-cwd: /);
  write('.gemini/settings.json', '{"security":{"auth":{"selectedType":"oauth-personal"}}}');
  assert.match(unrecorded('gemini'), 'logged in with Google');
});

test('pi: an extension in a file of the run', () => {
  const [option, path = ''] = launched('pi').args;
  assert.is(option, '--extension');
  assert.match(readFileSync(path, 'utf8'), `"${PROXY}/anthropic"`);
  write('.pi/agent/models.json', '{"providers":{"openai":{"baseUrl":"https://other.example/v1"}}}');
  const { remarks, args } = launched('pi');
  assert.match(remarks.join(), 'other.example');
  assert.not.match(readFileSync(args[1] ?? '', 'utf8'), '/openai/v1');
});

test('any other command: the variables of libraries, but for those that lead elsewhere', () => {
  const { env, remarks } = launched('aider', { OPENAI_BASE_URL: 'https://other.example/v1' });
  assert.equal(Object.keys(env).sort(), [
    'ANTHROPIC_BASE_URL',
    'GOOGLE_GEMINI_BASE_URL',
    'OLLAMA_HOST',
    'OPENAI_API_BASE',
  ]);
  assert.is(env.OPENAI_API_BASE, `${PROXY}/openai/v1`);
  assert.match(remarks.join(), 'Not recorded: calls to the address in OPENAI_BASE_URL');
});

test('a harness is known by the name of its program, wherever that is', () => {
  assert.equal(
    [startedHarness('/opt/bin/claude').name, startedHarness('/opt/bin/claude').command],
    ['Claude Code', '/opt/bin/claude'],
  );
});

test.run();
