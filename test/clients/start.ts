/** Does `svc start` run each real client with no more than a key, and record it? Run by `npm run test:clients`. */
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { holderOf } from '../../core/db/client/folder-lock.ts';
import { builtProgram } from '../support/built-service.ts';
import { emptyFolder, eventually, read, removeFolder } from '../support/serve.ts';
import { type HarnessStand, harnessStand, type Running, svcAt } from '../support/started-harness.ts';
import type { Recorded } from '../support/whole-service.ts';
import { within } from '../support/within.ts';
import { hasOpencode } from './install-clients.ts';
import { commandOf } from './run-client.ts';
import { startShellProvider } from './shell-provider.ts';
import { ANSWER, PRINTED } from './shell-words.ts';

const test = suite('svc start of real clients');
const RUN_MS = 60_000;
const KEY = 'AIzaSyPlanted-0123456789-0123456789-abcde';
const LINE = /svc: recorded ([0-9a-f]{8}) · (.+?) · (\d+) turns? · ([\d,]+) tokens · .+? · (http:\S+)\/sessions\/(\S+)/;

const provider = await startShellProvider();
let folder = '';
let stand: HarnessStand;

test.before(async () => {
  folder = await emptyFolder();
  stand = await harnessStand(folder, await builtProgram(join(folder, 'svc')), [], {
    LANG: 'C.UTF-8',
    HTTP_PROXY: provider.url, // they have nowhere to go but this machine
    HTTPS_PROXY: provider.url,
    ALL_PROXY: provider.url,
    NO_PROXY: '127.0.0.1,localhost',
    ...Object.fromEntries(
      ['ANTHROPIC', 'OPENAI', 'GEMINI'].map((name) => [`SVC_PROXY_UPSTREAMS_${name}`, provider.url]),
    ),
  });
  for (const name of ['claude', 'codex', 'gemini', 'pi', ...(hasOpencode ? (['opencode'] as const) : [])] as const) {
    const line = commandOf(name).map((word) => `'${word}'`);
    await writeFile(join(stand.bin, name), `#!/bin/sh\nexec ${line.join(' ')} "$@"\n`);
    await chmod(join(stand.bin, name), 0o755);
  }
});
test.after(async () => {
  await provider.close();
  await removeFolder(folder);
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(stand.home, path, '..'), { recursive: true });
  await writeFile(join(stand.home, path), text);
}

const ended = async (running: Running) =>
  within(RUN_MS, 'svc start to end', running.ended).catch((late: Error) => {
    throw new Error(`${late.message}\n${running.out()}\n${running.err()}`);
  });

/** Runs it to its end. @returns what was recorded, as the line that it prints says and as the read API has it */
async function recorded(args: readonly string[], env: Record<string, string>) {
  const { status, out, err } = await ended(svcAt(stand, ['start', ...args], env));
  assert.is(status, 0, `${out}\n${err}`);
  assert.match(out, ANSWER);
  const [, , title, turns, tokens, api = '', id = ''] = LINE.exec(err) ?? [];
  if (id === '') throw new Error(`No line says what was recorded:\n${err}`);
  const session = await read<Recorded>(`${api}/v1/sessions/${id}/traces`);
  const spans = session.traces.flatMap((trace) => trace.spans);
  const tools = spans.filter(({ kind }) => kind === 'tool');
  assert.ok(tools.some(({ output }) => output[0]?.tool_output?.includes(PRINTED)));
  return { title, turns, tokens, err, session: session.session as unknown as Record<string, unknown>, tools };
}

const CLAUDE = {
  ANTHROPIC_API_KEY: 'dummy',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', // no call for a title
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
};
const claudeArgs = (prompt: string) => ['claude', '-p', prompt, '--allowedTools', 'Bash'];

test('Claude Code', async () => {
  const prompt = 'What is six times seven? Ask the shell.';
  const { title, turns, tokens, session } = await recorded(claudeArgs(prompt), CLAUDE);
  assert.equal([title, turns, tokens], [prompt, '1', '220']);
  assert.equal([session.harness_id, session.cwd], ['claude', stand.cwd]);
});

test('Claude Code leaves nothing out once it takes the proxy for Anthropic', async () => {
  const bodiesBefore = provider.bodies.length;
  const more = { ...CLAUDE, _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL: '1', ANTHROPIC_MODEL: 'opus[1m]' };
  await recorded(claudeArgs('Is all of it there? Ask the shell.'), more);
  const first = provider.bodies.slice(bodiesBefore).find((body) => body.includes('"tools"')) ?? '';
  assert.ok((JSON.parse(first) as { tools: { name: string }[] }).tools.some(({ name }) => name === 'ToolSearch'));
});

test('Codex, with a key in the environment', async () => {
  await write('.codex/config.toml', CODEX);
  const prompt = 'What is six times seven? Ask the shell.';
  const { title, turns, session } = await recorded(['codex', 'exec', '--skip-git-repo-check', prompt], {
    OPENAI_API_KEY: 'dummy',
  });
  assert.equal([title, turns, session.harness_id], [prompt, '1', 'codex']);
});

test('Codex, with a key that it has stored: it stays its own provider', async () => {
  await write('.codex/config.toml', CODEX);
  await write('.codex/auth.json', JSON.stringify({ auth_mode: 'apikey', OPENAI_API_KEY: 'sk-dummy' }));
  const prompt = 'What is six times seven, with a stored key?';
  const { title, session, err } = await recorded(['codex', 'exec', '--skip-git-repo-check', prompt], {});
  assert.equal([title, session.harness_id], [prompt, 'codex']);
  assert.match(err, 'provider: openai');
});

test('Codex, logged in with ChatGPT: it starts unrecorded, and says why', async () => {
  await write('.codex/auth.json', JSON.stringify({ auth_mode: 'chatgpt', tokens: { access_token: 'x' } }));
  const { err } = await ended(svcAt(stand, ['start', 'codex', '--version']));
  assert.match(err, /^svc: not recorded: Codex is logged in with ChatGPT, [^\n]+\n/);
});

const CODEX = `model = "gpt-5"
approval_policy = "never"
sandbox_mode = "danger-full-access" # a sandbox of its own needs rights that a container has not
check_for_update_on_startup = false
[analytics]
enabled = false
`;

test('Gemini CLI, with a key', async () => {
  const settings = {
    security: { auth: { selectedType: 'gemini-api-key' } },
    privacy: { usageStatisticsEnabled: false },
    general: { disableAutoUpdate: true },
  };
  await write('.gemini/settings.json', JSON.stringify(settings));
  const prompt = 'What is six times seven? Ask the shell.';
  const args = ['--model', 'gemini-2.5-flash', '--approval-mode', 'yolo', '--skip-trust', '--prompt', prompt];
  const { session, tokens } = await recorded(['gemini', ...args], {
    GEMINI_API_KEY: KEY,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  });
  assert.equal([session.agent_name, session.cwd, tokens], ['gemini-cli', stand.cwd, '220']);
});

const MODEL = 'anthropic/claude-sonnet-4-5';

if (hasOpencode)
  test('opencode, with a key', async () => {
    const config = { autoupdate: false, share: 'disabled', permission: 'allow', model: MODEL };
    await write('.config/opencode/opencode.json', JSON.stringify({ ...config, small_model: MODEL }));
    const { session } = await recorded(['opencode', 'run', 'How much is six times seven?'], {
      ANTHROPIC_API_KEY: 'dummy',
    });
    assert.equal([session.harness_id, session.cwd], ['opencode', stand.cwd]);
  });

test('pi, with a key', async () => {
  const prompt = 'What is six times seven? Ask the shell.';
  const args = ['-p', '--provider', 'anthropic', '--model', 'claude-sonnet-4-5', prompt];
  const { session, title } = await recorded(['pi', ...args], { ANTHROPIC_API_KEY: 'dummy' });
  assert.equal([session.harness_id, session.cwd, title], ['pi', stand.cwd, prompt]);
});

if (spawnSync('script', ['--version']).status === 0)
  test('Claude Code on a terminal: Ctrl-C in mid-stream ends it, its exit status is ours, and the call is recorded', async () => {
    provider.holds = true;
    const linesBefore = provider.requestLines.length;
    const running = svcAt(stand, ['start', ...claudeArgs('Interrupted')], CLAUDE, { terminal: true });
    await eventually('its call', async () => provider.requestLines.slice(linesBefore).includes('POST /v1/messages'));
    running.type('\x03');
    const { status, out } = await ended(running);
    provider.holds = false;
    assert.is(status, 128 + 2);
    assert.match(out, /svc: recorded [0-9a-f]{8} · Interrupted/);
  });

test('after all of them the service ends', async () => {
  await eventually('the service to end', async () => holderOf(join(stand.home, '.svc')) === null);
});

test.run();
