/** Does `svc start` run a harness as if it had been started itself, record it in a service that several share, and end that after the last? */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { holderOf } from '../../core/db/client/folder-lock.ts';
import type { Session, SessionPage } from '../../core/model/session.ts';
import { builtProgram } from '../support/built-service.ts';
import { emptyFolder, eventually, read, removeFolder } from '../support/serve.ts';
import { type HarnessStand, harnessStand, type Running, svcAt } from '../support/started-harness.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { within } from '../support/within.ts';

const test = suite('svc start');
const WAIT_MS = 60_000;
const LINE =
  /^svc: recorded (?:meanwhile, by any program: )?([0-9a-f]{8}) · (.+?) · 1 turn · ([\d,]+) tokens · (\$[\d.]+|cost unknown) · (http:\S+)$/m;
const hasTerminals = spawnSync('script', ['--version']).status === 0;

let folder = '';
let upstream: ScriptedUpstream;
let stand: HarnessStand;

const usage = { input_tokens: 1000, output_tokens: 60, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  stop_reason: 'end_turn',
};
const whole = JSON.stringify({ ...message, content: [{ type: 'text', text: 'Six times seven is 42.' }], usage });
const begun = `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { ...message, stop_reason: null, content: [], usage } })}\n\n`;

test.before(async () => {
  folder = await emptyFolder();
  upstream = await startUpstream(() => async (request, outgoing) => {
    await request.whole;
    const holds = request.body.includes('"hold"');
    outgoing.writeHead(200, { 'content-type': holds ? 'text/event-stream' : 'application/json' });
    if (holds) outgoing.write(begun);
    else outgoing.end(whole);
  });
  stand = await harnessStand(folder, await builtProgram(join(folder, 'svc')), ['claude', 'own-harness'], {
    SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url,
  });
});
test.after(async () => {
  await eventually('the shared service to end', async () => holderOf(join(stand.home, '.svc')) === null, WAIT_MS);
  await upstream.close();
  await removeFolder(folder);
});

const start = (args: readonly string[], env: Record<string, string> = {}, options = {}): Running =>
  svcAt(stand, ['start', ...args], env, options);
const ended = ({ ended: end, out, err }: Running) =>
  within(WAIT_MS, 'svc start to end', end).catch((late: Error) => {
    throw new Error(`${late.message}\n${out()}\n${err()}`);
  });

/** What the line of a run says. */
function lineIn(err: string) {
  const found = LINE.exec(err);
  if (!found) throw new Error(`No line says what was recorded:\n${err}`);
  const [, id = '', title, tokens, cost, address = ''] = found;
  return { id, title, tokens, cost, api: new URL(address).origin, address };
}

test('what the harness writes of its session is sent while it runs, into the session of its calls', async () => {
  const beside = start(['claude'], { PROMPT: 'hold' }); // the service stays for it
  const { err, status } = await ended(start(['claude'], { PROMPT: 'With a file', TRANSCRIPT: 'With a file' }));
  assert.is(status, 0, err);
  const { id, title, api } = lineIn(err);
  assert.is(title, 'With a file');
  const turns = await eventually('both turns', async () => {
    const { items } = await read<{ items: { session_id: string }[] }>(`${api}/v1/whereis/${id}`);
    const at = `${api}/v1/sessions/${items[0]?.session_id}/raw_turns`;
    const page = await read<{ items: { source: string }[] }>(at);
    return page.items.length >= 2 && page.items;
  });
  assert.equal(turns.map(({ source }) => source).sort(), ['transcript', 'wire']);
  process.kill(beside.pid, 'SIGTERM');
  await ended(beside);
});

test('two at once share one service, which the commands of that user find anywhere', async () => {
  const beside = start(['claude'], { PROMPT: 'hold' }); // the service stays for it, however late the next command begins
  await eventually('the response to begin', async () => beside.out().includes('began: true'), WAIT_MS);
  const both = [start(['claude'], { PROMPT: 'The first' }), start(['claude'], { PROMPT: 'The second' })];
  const [one, other] = await Promise.all(both.map(ended));
  const [first, second] = [lineIn(one?.err ?? ''), lineIn(other?.err ?? '')];
  assert.equal([first.title, second.title], ['The first', 'The second']);
  assert.is(first.api, second.api);
  const open = await ended(svcAt(stand, ['open', '--print'], {}));
  assert.ok(open.out.startsWith(first.api), open.out + open.err);
  process.kill(beside.pid, 'SIGTERM');
  await ended(beside);
  assert.is(readdirSync(join(stand.home, '.svc')).filter((name) => name.startsWith('service.json')).length, 1);
  assert.is(statSync(join(stand.home, '.svc/service.log')).mode & 0o777, 0o600);
  assert.equal(readdirSync(stand.cwd), []);
});

test('the arguments, the exit status and the session are those of the harness', async () => {
  const args = ['--resume', '--version', '-p', 'two words'];
  const { status, out, err } = await ended(start(['claude', '--', ...args], { PROMPT: 'Six times seven?', EXIT: '3' }));
  assert.is(status, 3);
  const printed = JSON.parse(out);
  assert.equal([printed.args, printed.reply], [args, 'Six times seven is 42.']);
  assert.match(printed.base, /^http:\/\/127\.0\.0\.1:\d+\/anthropic$/);
  const { id, title, tokens, cost, api } = lineIn(err);
  assert.equal([title, tokens, cost], ['Six times seven?', '1,060', '$0.0039']);
  const { items } = await read<SessionPage>(`${api}/v1/sessions`);
  const session = items.find((one) => one.id.startsWith(id)) as Session;
  assert.equal([session.harness_id, session.cwd], ['claude', stand.cwd]);
  assert.type(session.harness_metadata?.svc_start, 'string');
});

test('SIGTERM in mid-stream goes on to the harness, whose end is the exit status; what came is recorded', async () => {
  const running = start(['claude'], { PROMPT: 'hold' });
  await eventually('the response to begin', async () => running.out().includes('began: true'), WAIT_MS);
  process.kill(running.pid, 'SIGTERM');
  const { status, err } = await ended(running);
  assert.is(status, 128 + 15);
  assert.is(lineIn(err).title, 'hold');
});

if (!hasTerminals) console.log("skip: svc start on a terminal: there is no 'script'");
else
  test('on a terminal the harness has it, and Ctrl-C is for the harness', async () => {
    const running = start(['claude'], { PROMPT: 'hold' }, { terminal: true });
    await eventually('the response to begin', async () => running.out().includes('began: true'), WAIT_MS);
    running.type('\x03');
    const { status, out } = await ended(running);
    assert.is(status, 128 + 2);
    assert.match(out, /svc: recorded [0-9a-f]{8} · hold/);
    const bare = await ended(start(['claude'], {}, { terminal: true }));
    assert.match(bare.out, '"terminal":true');
  });

test('any other command is pointed there by the variables of libraries; without a call it says so', async () => {
  const { status, out, err } = await ended(start(['own-harness', '--help']));
  assert.is(status, 0);
  assert.match(JSON.parse(out).base, /\/anthropic$/);
  assert.is(err, 'svc: nothing to show: no call came through the proxy, or only to sessions that are deleted\n');
  const recorded = await ended(start(['own-harness'], { PROMPT: 'By my own harness' }));
  assert.is(lineIn(recorded.err).title, 'By my own harness');
  assert.match(recorded.err, 'recorded meanwhile, by any program: ', 'nothing in a call says who made it');
});

test('an address of the person’s own is respected, in one sentence', async () => {
  const own = 'http://gateway.internal:4000';
  const { out, err } = await ended(start(['claude'], { ANTHROPIC_BASE_URL: own }));
  assert.is(JSON.parse(out).base, own);
  assert.match(err, /^svc: not recorded: ANTHROPIC_BASE_URL leads to gateway\.internal:4000, and svc would [^\n]+\n$/);
});

test('a command that does not exist is 127', async () => {
  const { status, err } = await ended(start(['no-such-harness']));
  assert.equal([status, err], [127, "svc: cannot start 'no-such-harness': there is no such command\n"]);
});

test('a command that may not be executed is 126', async () => {
  await writeFile(join(stand.bin, 'text'), '#!/bin/sh\n', { mode: 0o644 });
  const { status, err } = await ended(start(['text']));
  const sentence = "svc: cannot start 'text': its file is there, and this user may not execute it\n";
  assert.equal([status, err], [126, sentence]);
});

test('where no service can start, the harness runs all the same, unrecorded', async () => {
  const home = join(folder, 'broken');
  await mkdir(home);
  await writeFile(join(home, '.svc'), 'no folder');
  const broken = { ...stand, home };
  const { status, out, err } = await ended(svcAt(broken, ['start', 'claude', '--flag'], { EXIT: '4' }));
  assert.is(status, 4);
  assert.equal(JSON.parse(out), { args: ['--flag'], terminal: false });
  assert.match(err, /^svc: not recorded: [^\n]+\n$/);
  const wrong = await ended(svcAt(stand, ['start', 'claude'], { SVC_LOG_LEVEL: 'loud' }));
  assert.is(wrong.status, 0);
  assert.match(wrong.err, /^svc: not recorded: Cannot use this configuration: SVC_LOG_LEVEL: [^\n]+\n$/);
});

test('once the service has ended, a command says how what was recorded is read, and svc as the harness reads it', async () => {
  const svc = join(stand.home, '.svc');
  await eventually('the service to end', async () => holderOf(svc) === null, WAIT_MS);
  const alone = await ended(svcAt(stand, ['sessions'], {}));
  assert.equal([alone.status, alone.out], [1, '']);
  assert.match(alone.err, /nobody listens at [^\n]+, 'cd && svc serve' one with what 'svc start' has recorded\n$/);
  const inside = await ended(start([process.execPath, stand.program, 'sessions', '--limit', '1'])); // it waits for the read API
  assert.is(inside.status, 0, inside.err);
  assert.match(inside.out, /By my own harness/);
});

test('the service ends after the last harness, and leaves no registration and no file behind', async () => {
  const svc = join(stand.home, '.svc');
  await eventually('the service to end', async () => !existsSync(join(svc, 'service.json')), WAIT_MS);
  await eventually('its process to end', async () => holderOf(svc) === null, WAIT_MS);
  assert.not.ok(existsSync(join(svc, 'harnesses')));
  assert.equal(existsSync(join(svc, 'runs')) ? readdirSync(join(svc, 'runs')) : [], []); // made for a harness that needs a file
});

test.run();
