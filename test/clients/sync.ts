/** Do the totals after `svc sync` equal those of ccusage on the same files? The files are those that the real harnesses just left, and a generated folder. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sqliteMissing } from '../../core/cli/sync/sqlite.ts';
import { claudeFolder, writeFolder } from '../support/claude-folder.ts';
import type { Json } from '../support/read-api.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService, svc } from '../support/serve.ts';
import { BY_SUB_AGENT } from './chat-answers.ts';
import { hasOpencode } from './install-clients.ts';
import { runClient } from './run-client.ts';
import { startShellProvider } from './shell-provider.ts';

/** Reads all five; later releases of its programs are not always in a registry. */
const CCUSAGE = '20.0.24';
const PROMPT = 'What is six times seven? Ask the shell.';

const test = suite('svc sync beside ccusage');

let home = '';
let tools = '';
let service: Service;
test.before(async () => {
  home = await emptyFolder();
  tools = await mkdtemp(join(tmpdir(), 'svc-ccusage-'));
  await writeFolder(
    join(home, '.claude'),
    [1, 2, 3].flatMap((seed) => claudeFolder(seed, { sessions: 12 })),
  );
  const provider = await startShellProvider();
  await runClients(provider.url);
  await provider.close();
  service = await startService(home);
});
test.after(async () => {
  await service?.stop();
  await removeFolder(home);
  await rm(tools, { recursive: true, force: true });
});

async function runClients(way: string): Promise<void> {
  const at = { home, way };
  await mkdir(join(home, '.codex'));
  await writeFile(
    join(home, '.codex/config.toml'),
    `model = "gpt-5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "${way}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
supports_websockets = false
`,
  );
  const model = { baseUrl: `${way}/v1`, api: 'openai-completions', apiKey: 'dummy', models: [{ id: 'gpt-4.1' }] };
  await mkdir(join(home, '.pi/agent'), { recursive: true });
  await writeFile(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { scripted: model } }));
  await mkdir(join(home, '.gemini'));
  const settings = { security: { auth: { selectedType: 'gemini-api-key' } }, general: { disableAutoUpdate: true } };
  await writeFile(join(home, '.gemini/settings.json'), JSON.stringify(settings));
  const opencode = {
    ...{ autoupdate: false, share: 'disabled', permission: 'allow' },
    ...{ model: 'scripted/gpt-4.1', small_model: 'scripted/gpt-4.1' },
    provider: {
      scripted: {
        ...{ npm: '@ai-sdk/openai-compatible', name: 'scripted', models: { 'gpt-4.1': { name: 'gpt-4.1' } } },
        options: { baseURL: `${way}/v1`, apiKey: 'dummy' },
      },
    },
  };
  await writeFile(join(home, 'opencode.json'), JSON.stringify(opencode));

  const ran = [
    await runClient('claude', ['-p', PROMPT, '--allowedTools', 'Bash'], {
      ...at,
      env: {
        ...{ ANTHROPIC_BASE_URL: way, ANTHROPIC_API_KEY: 'dummy', DISABLE_AUTOUPDATER: '1' },
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    }),
    await runClient('codex', ['exec', '--skip-git-repo-check', PROMPT], { ...at, env: { OPENAI_API_KEY: 'dummy' } }),
    await runClient('pi', ['-p', '--provider', 'scripted', '--model', 'gpt-4.1', PROMPT], { ...at, env: {} }),
    await runClient(
      'gemini',
      ['--model', 'gemini-2.5-flash', '--approval-mode', 'yolo', '--skip-trust', '--prompt', PROMPT],
      { ...at, env: { GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: way, GEMINI_CLI_TRUST_WORKSPACE: 'true' } },
    ),
    ...(hasOpencode ? [await runClient('opencode', ['run', BY_SUB_AGENT], { ...at, env: {} })] : []),
  ];
  assert.equal(
    ran.map(({ status, err }) => (status === 0 ? '' : err)),
    ran.map(() => ''),
  );
}

type Totals = { input: number; output: number; cacheRead: number; cacheWrite: number };

/** Its program, which is a package for this platform; null: the registry has none. */
function installCcusage(): string | null {
  const name = `@ccusage/ccusage-${process.platform}-${process.arch}`;
  spawnSync('npm', ['i', '--prefix', tools, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${CCUSAGE}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 120_000,
  });
  const program = join(tools, 'node_modules', name, 'bin/ccusage');
  if (!existsSync(program)) return null;
  chmodSync(program, 0o755);
  return program;
}

function theirs(program: string, harness: string): Totals {
  const env = { HOME: home, PATH: process.env.PATH ?? '' };
  const { totals } = JSON.parse(
    execFileSync(program, [harness, 'session', '--json', '--offline'], { env }).toString(),
  ) as Json;
  const { inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens } = totals;
  return { input: inputTokens, output: outputTokens, cacheRead: cacheReadTokens, cacheWrite: cacheCreationTokens };
}

async function ours(harness_id: string): Promise<Totals> {
  const sum: Totals = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  for (let cursor = ''; ; ) {
    const page = await read<Json>(`${service.api}/v1/sessions?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`);
    for (const session of page.items.filter((one: Json) => one.harness_id === harness_id)) {
      const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = session.rollup.usage;
      sum.input += input_tokens - cache_read_tokens - cache_write_tokens; // ours includes what the cache took and gave
      sum.output += output_tokens;
      sum.cacheRead += cache_read_tokens;
      sum.cacheWrite += cache_write_tokens;
    }
    if (!page.next_cursor) return sum;
    cursor = page.next_cursor;
  }
}

test('input, output and cache of each harness are those of ccusage', async () => {
  const program = installCcusage();
  if (program === null) return console.log('skip: ccusage: it has no program for this platform');
  const { status, out, err } = await svc(home, ['sync', '--json']);
  assert.is(status, 0, err);
  for (const { name, refused } of JSON.parse(out).harnesses) assert.equal(refused, [], name);
  await eventually('all is derived', async () => {
    const { derive } = await read<Json>(`${service.api}/v1/admin/status`);
    return derive.queued === 0;
  });
  assert.ok((await readdir(join(home, '.codex/sessions'))).length > 0);
  const names = [
    ['claude', 'claude'],
    ['codex', 'codex'],
    ['gemini', 'gemini-cli'],
    ['pi', 'pi'],
    ...(hasOpencode && sqliteMissing() === null ? [['opencode', 'opencode']] : []),
  ] as const;
  for (const [name = '', id = ''] of names) {
    const expected = theirs(program, name);
    assert.ok(expected.input > 0 && expected.output > 0, name);
    assert.equal(await ours(id), expected, name);
  }
});

test.run();
