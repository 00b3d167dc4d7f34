import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { builtProgram } from '../support/built-service.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService, svc } from '../support/serve.ts';

type Session = {
  harness_session_id: string;
  rollup: { usage: { cost_usd: number | null; input_tokens: number; output_tokens: number } };
};

const test = suite('svc statusline');
const TOKEN = 'planted-token';
let base = '';
let program = '';
let service: Service;
let session: Session;
test.before(async () => {
  base = await mkdtemp(join(tmpdir(), 'svc-statusline-'));
  const built = await builtProgram(join(base, 'package'));
  program = join(dirname(built), '../../bundle/core.cli.statusline.main.cjs');
  service = await startService(await emptyFolder(), {}, [built]);
  await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' });
  session = await eventually('a session with a price', async () => {
    const { items } = await read<{ items: Session[] }>(`${service.api}/v1/sessions`);
    return items.find(({ rollup }) => (rollup.usage?.cost_usd ?? 0) > 0);
  });
});
test.after(async () => {
  await service.stop();
  await Promise.all([base, service.folder].map(removeFolder));
});

type Shown = { out: string; err: string; status: number | null; ms: number };

/** What the program shows, called by its path as a harness calls it. `input` null: stdin stays open. */
async function shown(input: object | string | null, env: Record<string, string> = {}, cwd = base): Promise<Shown> {
  const from = performance.now();
  const child = spawn(program, [], { cwd, env: { PATH: process.env.PATH, HOME: base, NO_COLOR: '1', ...env } });
  child.stdin.on('error', () => {}); // it may end before it has read all
  if (input !== null) child.stdin.end(typeof input === 'string' ? input : JSON.stringify(input));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { out, err, status: child.exitCode, ms: performance.now() - from };
}

const LATE = 'svc: no answer in time\n';

/** As `shown`, once the service was not late by 300 ms. */
const shownInTime = (...given: Parameters<typeof shown>): Promise<Shown> =>
  eventually('an answer in time', async () => {
    const one = await shown(...given);
    return one.out !== LATE && one;
  });

const state = (more = {}) => ({
  session_id: session.harness_session_id,
  transcript_path: '/home/ada/.claude/projects/a/b.jsonl',
  cwd: service.folder,
  model: { id: 'claude-sonnet-4-5', display_name: 'Sonnet' },
  workspace: { current_dir: service.folder, project_dir: service.folder },
  cost: { total_cost_usd: 9.99 },
  ...more,
});

test('a recorded session: its cost and tokens as the read API has them, and the context as the harness says', async () => {
  const { cost_usd, input_tokens, output_tokens } = session.rollup.usage;
  const { out, err, status } = await shownInTime(state({ context_window: { used_percentage: 61.7 } }));
  assert.equal([status, err], [0, '']);
  const [, cost, tokens, unit] = /^● svc · \$([\d.]+) · ([\d.]+)(k|M|) tokens · 62% context\n$/.exec(out) ?? [];
  assert.ok(cost && tokens, out);
  assert.ok(Math.abs(Number(cost) - (cost_usd ?? 0)) <= 0.005, out);
  const counted = Number(tokens) * (unit === 'M' ? 1_000_000 : unit === 'k' ? 1_000 : 1);
  assert.ok(Math.abs(counted / (input_tokens + output_tokens) - 1) < 0.01, out);
});

test('where the harness does not say how full its context is, the newest call does', async () => {
  assert.match((await shownInTime(state())).out, / tokens · [\d.]+[kM]? context\n$/);
});

test('colours, unless NO_COLOR is set', async () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with an escape character
  const colour = /\u001b\[/;
  assert.match((await shownInTime(state(), { NO_COLOR: '' })).out, colour);
  assert.not.match((await shownInTime(state())).out, colour);
});

test('a session that is not in the record, and a service that is not there', async () => {
  const unknown = await shownInTime(state({ session_id: 'never-recorded' }));
  assert.equal([unknown.out, unknown.err, unknown.status], ['svc: nothing recorded yet\n', '', 0]);
  const down = await shown(state(), { SVC_CLIENT_API_TARGET: 'http://127.0.0.1:1' });
  assert.equal([down.out, down.err, down.status], ['svc: not recorded\n', '', 0]);
});

test('whatever comes on stdin, there is one line and no error', async () => {
  for (const input of [
    '',
    'no JSON',
    '[]',
    '{"session_id":7}',
    '{"session_id":"a/../b?c#d"}',
    `{"session_id":"${'x'.repeat(5_000)}"}`,
  ]) {
    const { out, err, status } = await shown(input, {}, service.folder);
    assert.match(out, /^svc: (not recorded|nothing recorded yet|no answer in time)\n$/, input.slice(0, 40));
    assert.equal([err, status], ['', 0]);
  }
});

test('a service that accepts and is silent, and a harness that leaves stdin open, are not waited for', async () => {
  const silent = createSocketServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const target = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  try {
    const ready = (await shown('')).ms; // what starting takes on this machine
    const behind: [Shown, line: string][] = [
      [await shown(state(), { SVC_CLIENT_API_TARGET: target }), LATE],
      [await shown(null), 'svc: not recorded\n'],
    ];
    for (const [{ out, err, status, ms }, line] of behind) {
      assert.equal([out, err, status], [line, '', 0]);
      assert.ok(ms < 4 * (300 + ready), `${ms} ms`);
    }
  } finally {
    silent.close();
  }
});

/** Shows it again until the server was asked and was not late: its 300 ms may be over before. */
const shownUntil = (wasRequested: () => boolean, ...given: Parameters<typeof shown>): Promise<Shown> =>
  eventually('the server to be asked', async () => {
    const one = await shown(...given);
    return wasRequested() && one.out !== LATE && one;
  });

/** A server that answers /ping as it likes, and what it received. */
async function impostor(ping: string): Promise<{ server: Server; address: string; tokens: string[]; paths: string[] }> {
  const tokens: string[] = [];
  const paths: string[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    paths.push(request.url ?? '');
    if (request.headers.authorization) tokens.push(request.headers.authorization);
    response.end(ping);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokens, paths };
}

test('the token goes to a read API alone', async () => {
  const other = await impostor('{"other":"program"}');
  const like = await impostor('"pong"');
  try {
    await shownUntil(() => other.paths.length > 0, state(), {
      SVC_CLIENT_API_TARGET: other.address,
      SVC_API_TOKEN: TOKEN,
    });
    assert.equal([[...new Set(other.paths)], other.tokens], [['/ping'], []]);
    await shownUntil(() => like.tokens.length > 0, state(), {
      SVC_CLIENT_API_TARGET: like.address,
      SVC_API_TOKEN: TOKEN,
    });
    assert.equal([...new Set(like.tokens)], [`Bearer ${TOKEN}`]);
  } finally {
    other.server.close();
    like.server.close();
  }
});

test('a token that would add a header is not sent', async () => {
  const like = await impostor('"pong"');
  try {
    const { out } = await shownUntil(() => like.paths.length > 0, state(), {
      SVC_CLIENT_API_TARGET: like.address,
      SVC_API_TOKEN: `${TOKEN}\r\nx-more: 1`,
    });
    assert.equal([out, [...new Set(like.paths)], like.tokens], ['svc: not recorded\n', ['/ping'], []]);
  } finally {
    like.server.close();
  }
});

test('the address and the token of the configuration file', async () => {
  const like = await impostor('"pong"');
  const folder = join(base, 'configured');
  await mkdir(join(folder, '.svc'), { recursive: true });
  await writeFile(
    join(folder, '.svc', 'config.toml'),
    `[client]\napi_target = "${like.address}"\n[api]\ntoken = "${TOKEN}"\n`,
  );
  try {
    await shownUntil(() => like.tokens.length > 0, state({ workspace: { project_dir: folder } }));
    assert.equal([...new Set(like.tokens)], [`Bearer ${TOKEN}`]);
  } finally {
    like.server.close();
    await rm(folder, { recursive: true });
  }
});

test('svc statusline shows the same', async () => {
  const { status, out, err } = await svc(service.folder, ['statusline']);
  assert.equal([status, out, err], [0, 'svc: not recorded\n', '']);
});

test.run();
