/** The socket on which systemd hears its services, as a real datagram socket that another program holds, since Node has none of this kind. */
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { emptyFolder, removeFolder } from './serve.ts';

export type NotifySocket = {
  path: string;
  /** The assignments that came, each once for each time, in order: `READY=1`. */
  heard: string[];
  close(): Promise<void>;
};

/** Like systemd it closes what comes along, which tells the sender that its message was read. */
const LISTEN = `
import array, os, socket, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listening.bind(sys.argv[1])
print('listening', flush=True)
while True:
    text, beside, _, _ = listening.recvmsg(65536, socket.CMSG_SPACE(64))
    for _, _, data in beside:
        for fd in array.array('i', data[:len(data) - len(data) % 4]): os.close(fd)
    print(text.decode(), flush=True)
`;

/** The programs that a test with such a socket needs and that this machine lacks. */
export const missingForNotify = (): string[] =>
  ['python3', 'systemd-notify'].filter((program) => {
    try {
      execFileSync(program, ['--version'], { stdio: 'ignore' });
      return false;
    } catch {
      return true;
    }
  });

export async function openNotifySocket(): Promise<NotifySocket> {
  const folder = await emptyFolder();
  const path = join(folder, 'notify');
  const child = spawn('python3', ['-c', LISTEN, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const heard: string[] = [];
  await new Promise<void>((listening) => {
    createInterface(child.stdout).on('line', (line) => {
      if (line === 'listening') listening();
      else if (line !== '' && line !== 'BARRIER=1') heard.push(line);
    });
  });
  return {
    path,
    heard,
    close: async () => {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill();
      await ended;
      await removeFolder(folder);
    },
  };
}
