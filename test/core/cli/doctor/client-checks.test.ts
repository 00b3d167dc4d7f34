/** Does doctor notice a client that is pointed at the wrong listener, without its prefix, over https, or past the proxy? */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clientChecks } from '../../../../core/cli/doctor/client-checks.ts';
import { harnessChecks } from '../../../../core/cli/doctor/harness-checks.ts';

const test = suite('what doctor says of clients');
let home = '';
test.before.each(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-doctor-'));
});
test.after.each(() => rmSync(home, { recursive: true, force: true }));

const write = (path: string, text: string) => {
  mkdirSync(join(home, path, '..'), { recursive: true });
  writeFileSync(join(home, path), text);
};

const AT = { proxy: 'http://localhost:8080', api: 'http://localhost:8081', ingest: 'http://localhost:8082' };
const clients = (env: Record<string, string>, provider: 'ollama' | 'anthropic' = 'ollama') =>
  clientChecks({ ...AT, provider, env, home }).map(({ level, text, remedy }) => [level, text, remedy]);

const RIGHT = 'ANTHROPIC_BASE_URL=http://localhost:8080/anthropic';
const pointedAt = (value: string, provider?: 'anthropic') => clients({ ANTHROPIC_BASE_URL: value }, provider);

test('an address below the right prefix of the proxy is well, by whichever name of loopback', () => {
  for (const value of [
    'http://localhost:8080/anthropic',
    'http://127.0.0.1:8080/anthropic/',
    'http://[::1]:8080/anthropic',
  ])
    assert.equal(pointedAt(value), [['ok', 'ANTHROPIC_BASE_URL leads to the proxy', null]], value);
  assert.is(pointedAt('http://localhost:8080', 'anthropic')[0]?.[0], 'ok', 'bare paths go to that provider');
  assert.is(clients({ OLLAMA_HOST: 'localhost:8080' })[0]?.[0], 'ok', 'a host and a port are an address for Ollama');
  assert.is(clients({})[0]?.[0], 'ok');
});

test('what is wrong is named, with the line that mends it', () => {
  const wrong: [string, string, RegExp][] = [
    ['http://localhost:8081', 'fail', /leads to the read API/],
    ['http://localhost:8082/anthropic', 'fail', /leads to the ingest API/],
    ['http://localhost:8080', 'fail', /leads to ollama and not to anthropic/],
    ['http://localhost:8080/openai', 'fail', /leads to openai and not to anthropic/],
    ['https://localhost:8080/anthropic', 'fail', /speaks https to the proxy, which speaks http/],
    ['https://api.anthropic.com', 'warn', /provider's own address/],
    ['https://gateway.example/anthropic', 'warn', /leads to gateway\.example/],
    ['http://[', 'fail', /is no address/],
  ];
  for (const [value, level, text] of wrong) {
    const [found] = pointedAt(value);
    assert.is(found?.[0], level, value);
    assert.match(found?.[1] ?? '', text);
    assert.is(found?.[2], RIGHT);
  }
});

test('OLLAMA_HOST may lack a scheme, a host or a port', () => {
  const ollama = (value: string) => clients({ OLLAMA_HOST: value })[0];
  for (const value of ['localhost:8080', ':8080', '[::1]:8080', 'http://127.0.0.1:8080/'])
    assert.equal(ollama(value), ['ok', 'OLLAMA_HOST leads to the proxy', null], value);
  for (const value of [':11434', '::1', '[::1]', 'localhost', '127.0.0.1', 'http://localhost:11434'])
    assert.match(String(ollama(value)?.[1]), /provider's own address/, value);
  assert.match(
    String(ollama('http://localhost')?.[1]),
    /leads to localhost:/,
    'with a scheme the port is that of the scheme',
  );
  assert.equal(ollama('[')?.slice(0, 2), ['fail', 'OLLAMA_HOST is no address']);
});

test('settings files of harnesses are read as well', () => {
  write('.claude/settings.json', JSON.stringify({ env: { ANTHROPIC_BASE_URL: 'http://localhost:8081' } }));
  write(
    '.codex/config.toml',
    'model_provider = "svc"\n[model_providers.svc]\nbase_url = "http://localhost:8080/openai/v1"\n',
  );
  assert.equal(
    clients({}).map(([level, text]) => [level, String(text).replace(home, '~')]),
    [
      ['fail', 'ANTHROPIC_BASE_URL in ~/.claude/settings.json leads to the read API, which forwards nothing'],
      ['ok', 'base_url in ~/.codex/config.toml leads to the proxy'],
    ],
  );
});

test('features that are off, a login that passes svc by and transcripts that are deleted are told once they concern somebody', () => {
  assert.equal(harnessChecks({ env: {}, home }), []);
  write('.claude/projects/x/y.jsonl', '');
  write('.codex/auth.json', JSON.stringify({ OPENAI_API_KEY: null, tokens: { access_token: 'secret-token' } }));
  write('.gemini/settings.json', JSON.stringify({ general: { sessionRetention: { enabled: true, maxAge: '30d' } } }));
  const found = harnessChecks({ env: { ANTHROPIC_BASE_URL: 'http://localhost:8080/anthropic' }, home });
  assert.equal(
    found.map(({ level, check, text }) => `${level} ${check}: ${text}`),
    [
      'warn Claude Code: with a base URL it sends the whole definition of every tool, instead of searching for tools',
      'warn Claude Code: it deletes its transcripts after 30 days',
      'warn Codex: it is logged in with ChatGPT, whose calls go to an address of their own and are not recorded',
      'warn Gemini CLI: it deletes its sessions after 30d',
    ],
  );
  assert.not.match(JSON.stringify(found), 'secret-token');
  write('.claude/settings.json', JSON.stringify({ cleanupPeriodDays: 99_999, env: { ENABLE_TOOL_SEARCH: 'true' } }));
  write('.codex/auth.json', JSON.stringify({ OPENAI_API_KEY: 'sk-x', tokens: null }));
  write('.gemini/settings.json', '{"general":');
  assert.equal(harnessChecks({ env: { ANTHROPIC_BASE_URL: 'http://localhost:8080/anthropic' }, home }), []);
});

test.run();
