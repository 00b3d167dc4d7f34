/** `svc serve` as systemd runs it: it notifies of its start, its state and its end, and is well only while its processes respond. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { missingForNotify, type NotifySocket, openNotifySocket } from '../support/notify-socket.ts';
import { eventually, removeFolder, type Service, startService } from '../support/serve.ts';

type Context = { socket: NotifySocket; folder: string; service: Service };
const test = suite<Context>('svc serve under systemd');

test.before(async (context) => {
  context.socket = await openNotifySocket();
  context.folder = await folderWithDatabase();
  context.service = await startService(context.folder, {
    NOTIFY_SOCKET: context.socket.path,
    WATCHDOG_USEC: '1000000',
  });
});
test.after(async ({ socket, folder }) => {
  await socket.close();
  await removeFolder(folder);
});

const signs = ({ heard }: NotifySocket) => heard.filter((one) => one === 'WATCHDOG=1').length;

test('it is ready when everything listens, and not before', async ({ socket }) => {
  const { heard } = socket;
  await eventually('it to be ready', async () => heard.includes('READY=1'));
  assert.ok(heard.indexOf('READY=1') > heard.indexOf('STATUS=proxy up, service starting'), heard.join('\n'));
  await eventually('its state', async () => heard.includes('STATUS=proxy up, service up'));
});

test('while a process does not respond, there is no sign of life', async ({ socket, service }) => {
  for (const name of ['proxy', 'service'] as const) {
    await eventually('signs of life', async () => signs(socket) > 2);
    const pid = service.processes()[name];
    process.kill(pid, 'SIGSTOP');
    try {
      // what it had responded before counts once more, and may be heard late: then none comes for two seconds
      await eventually(`silence of the ${name}`, async () => {
        const before = signs(socket);
        await new Promise((done) => setTimeout(done, 2_000));
        return signs(socket) === before;
      });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const silent = signs(socket);
    await eventually('signs of life', async () => signs(socket) > silent);
  }
});

test('a process that ended is started again, which needs nobody else', async ({ socket, service }) => {
  process.kill(service.processes().service, 'SIGKILL');
  const from = socket.heard.length;
  await eventually('its state', async () => {
    const since = socket.heard.slice(from);
    const down = since.indexOf('STATUS=proxy up, service starting');
    return down !== -1 && since.indexOf('STATUS=proxy up, service up') > down;
  });
});

test('it says that it stops', async ({ socket, service }) => {
  assert.is(await service.stop(), 0);
  const { heard } = socket;
  await eventually('its last word', async () => heard.includes('STOPPING=1')); // by way of a program that holds the socket
  assert.is(heard.filter((one) => one === 'READY=1').length, 1);
});

const missing = missingForNotify();
if (missing.length > 0) console.log(`skip: svc serve under systemd: there is no ${missing.join(', no ')}`);
else test.run();
