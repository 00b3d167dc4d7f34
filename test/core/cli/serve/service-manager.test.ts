/** What systemd hears, through the real systemd-notify on a real socket. */
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openServiceManager, withoutServiceManager } from '../../../../core/cli/serve/service-manager.ts';
import { missingForNotify, type NotifySocket, openNotifySocket } from '../../../support/notify-socket.ts';
import { eventually } from '../../../support/serve.ts';

const { PATH } = process.env;
const log = pino({ level: 'silent' });
const pid = process.pid;

const alone = suite('the service manager, without systemd');

alone('nothing is sent where systemd has not started the service', async () => {
  const manager = openServiceManager({ env: { PATH: '/nowhere', WATCHDOG_USEC: '1000' }, log, pid });
  manager.ready('up');
  manager.stopping();
  await manager.close();
});

alone('without systemd-notify the service goes on, and says so once', async () => {
  const warned: unknown[] = [];
  const loud = pino({ level: 'warn' }, { write: (line) => void warned.push(JSON.parse(line)) });
  const manager = openServiceManager({ env: { PATH: '/nowhere', NOTIFY_SOCKET: '/nowhere/notify' }, log: loud, pid });
  manager.ready('up');
  manager.stopping();
  await manager.close();
  assert.equal(
    warned.map((line) => (line as { msg: string; reason: string }).reason),
    ['ENOENT'],
  );
});

alone('the processes that it starts cannot speak for it', () => {
  const env = { NOTIFY_SOCKET: '/run/notify', WATCHDOG_PID: '1', WATCHDOG_USEC: '1', HOME: '/home' };
  assert.equal(withoutServiceManager(env), { HOME: '/home' });
});

alone.run();

const test = suite<{ socket: NotifySocket }>('the service manager');

test.before.each(async (context) => {
  context.socket = await openNotifySocket();
});
test.after.each(({ socket }) => socket.close());

test('ready, each change of the state once, stopping: in this order', async ({ socket }) => {
  const manager = openServiceManager({ env: { PATH, NOTIFY_SOCKET: socket.path }, log, pid });
  manager.status('starting');
  manager.status('starting');
  manager.ready('up');
  manager.status('up');
  manager.stopping();
  await manager.close();
  manager.status('too late');
  const stopping = 'STATUS=stopping: what is under way may finish';
  assert.equal(socket.heard, ['STATUS=starting', 'READY=1', 'STATUS=up', 'STOPPING=1', stopping]);
});

test('a sign of life at half the period, while all is well', async ({ socket }) => {
  let isWell = true;
  const env = { PATH, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '200000', WATCHDOG_PID: String(pid) };
  const manager = openServiceManager({ env, log, pid, isWell: () => isWell });
  await eventually('signs of life', async () => socket.heard.length >= 3);
  isWell = false;
  let before = 0;
  // what was on its way comes as late as the machine is slow: then none comes for six periods
  await eventually('silence', async () => {
    before = socket.heard.length;
    await new Promise((done) => setTimeout(done, 600));
    return socket.heard.length === before;
  });
  isWell = true;
  await eventually('signs of life', async () => socket.heard.length > before);
  await manager.close();
  assert.equal([...new Set(socket.heard)], ['WATCHDOG=1']);
});

test('the watchdog of another process is not fed', async ({ socket }) => {
  const env = { PATH, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '100000', WATCHDOG_PID: '1' };
  const manager = openServiceManager({ env, log, pid });
  await new Promise((done) => setTimeout(done, 400));
  await manager.close();
  assert.equal(socket.heard, []);
});

const missing = missingForNotify();
if (missing.length > 0) console.log(`skip: the service manager: there is no ${missing.join(', no ')}`);
else test.run();
