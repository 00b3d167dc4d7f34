/** `svc demo` shows what the service is good for, and leaves nothing behind. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFolder, eventually, QUICK_START, removeFolder, SVC } from '../support/serve.ts';
import { bundled } from '../support/web.ts';

const test = suite<{ folder: string; held: Server[] }>('svc demo');

const DEFAULT_PORTS = [8080, 8081, 8082];

/** The demo in a folder of its own, which is also the place of temporary folders. */
function startDemo(folder: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [...QUICK_START, ...SVC, 'demo'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed.err += text;
  });
  let ended = false;
  const exited = once(child, 'close').then(([code]) => {
    ended = true;
    return code as number | null;
  });
  const says = (words: string) =>
    eventually(
      words,
      async () => {
        if (ended && !printed.out.includes(words)) throw new Error(`svc demo ended:\n${printed.out}\n${printed.err}`);
        return printed.out.includes(words);
      },
      90_000,
    );
  return { child, printed, exited, says };
}

const left = async (folder: string) => (await readdir(folder)).filter((name) => name.startsWith('svc-demo-'));

/** Holds a port of this machine; whoever else may hold it is as good. */
async function held(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await Promise.race([once(server, 'listening'), once(server, 'error')]).catch(() => {});
  return server;
}

test.before(async (context) => {
  await bundled(); // the page that it names is served from source, too
  context.folder = await emptyFolder();
  context.held = await Promise.all(DEFAULT_PORTS.map(held));
});
test.after(async ({ folder, held }) => {
  for (const server of held) server.close();
  await removeFolder(folder);
});

test('it holds a conversation through the proxy, and the addresses that it prints answer', async ({ folder }) => {
  const { child, printed, exited, says } = startDemo(folder);
  await says('Ctrl-C');
  assert.is(printed.err, '', 'nothing is said beside it');
  assert.match(printed.out, /you {7}Which is the last ferry to Limni tonight/);
  assert.match(printed.out, /model {5}The 21:40 from Skala to Limni: it has room for 4 bicycles/);
  assert.match(
    printed.out,
    /Recorded as a session of 3 model calls and 2 tool calls: 194 tokens in, 78 out, \$0\.0002024\./,
  );
  assert.match(printed.out, 'Beside it are 12 sessions of 98 model calls');
  assert.is((await left(folder)).length, 1);

  const addresses = [...printed.out.matchAll(/^ {2}(.{9}) (?:curl '([^']+)'|(http\S+) in a browser)$/gm)].map(
    ([, name = '', curl, page]): [string, string] => [name.trim(), curl ?? page ?? ''],
  );
  assert.equal(
    addresses.map(([name]) => name),
    ['web UI', 'sessions', 'this one', 'a bug', 'its bytes', 'stats', 'coverage', 'contract'],
  );
  const answers = new Map<string, string>();
  for (const [name, address] of addresses) {
    const response = await fetch(address);
    answers.set(name, await response.text());
    assert.is(response.status, 200, address);
    assert.not.ok(DEFAULT_PORTS.includes(Number(new URL(address).port)), 'a port that is taken is not insisted on');
  }
  const json = (name: string) => JSON.parse(answers.get(name) ?? '');
  assert.is(json('sessions').items.length, 13);
  const [turn] = json('this one').traces;
  assert.equal(
    turn.spans.map(({ kind, name }: { kind: string; name: string }) => [kind, name]),
    [
      ['agent', 'main'],
      ['llm', 'gpt-4.1-mini'],
      ['tool', 'list_files'],
      ['llm', 'gpt-4.1-mini'],
      ['tool', 'read_file'],
      ['llm', 'gpt-4.1-mini'],
    ],
  );
  assert.match(json('a bug').traces[0].trace.user_prompt, "The test 'departs today' fails");
  assert.is(json('its bytes').items.length, 3);
  assert.is(json('stats').session_count, 13);
  const { outcomes, requests } = json('coverage');
  assert.equal([outcomes.captured, outcomes.partial], [requests - 1, 1], 'one response of the demo is cut off');

  child.kill('SIGINT');
  assert.is(await exited, 0);
  assert.equal(await left(folder), [], 'the temporary folder is gone');
  const made = (await readdir(folder)).filter((name) => !name.startsWith('tsx-')); // the loader of this test caches there
  assert.equal(made, [], 'and nothing else was made');
});

test('it can be stopped before it is done', async ({ folder }) => {
  const { child, printed, exited, says } = startDemo(folder);
  await says('a conversation through the proxy');
  child.kill('SIGINT');
  assert.is(await exited, 0, printed.err);
  assert.equal(await left(folder), []);
});

test('a port that was asked for and is taken ends it', async ({ folder }) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const { printed, exited } = startDemo(folder, { SVC_API_LISTEN: `127.0.0.1:${port}` });
  assert.is(await exited, 1);
  assert.match(printed.err, `Cannot listen for the read API on port ${port}: it is taken by another process; `);
  assert.equal(await left(folder), []);
  taken.close();
});

test('a token of the read API is asked for and used', async ({ folder }) => {
  const { child, printed, exited, says } = startDemo(folder, { SVC_API_TOKEN: 'open-sesame' });
  await says('Ctrl-C');
  const [, api = ''] = /-H "authorization: Bearer \$SVC_API_TOKEN" '(http[^']+\/v1\/sessions)'/.exec(printed.out) ?? [];
  assert.not.match(printed.out, 'open-sesame');
  assert.is((await fetch(api)).status, 401);
  assert.is((await fetch(api, { headers: { authorization: 'Bearer open-sesame' } })).status, 200);
  child.kill('SIGINT');
  assert.is(await exited, 0);
});

test.run();
