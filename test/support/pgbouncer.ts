/** A PgBouncer in transaction mode before a PostgreSQL server, with a configuration of its own; as another user than root, which it refuses to be. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { eventually } from './serve.ts';

const PROGRAM = '/usr/sbin/pgbouncer';
const NOBODY = 65_534;

/** Whether it is installed here. */
export const hasPgbouncer = () => existsSync(PROGRAM);

export type Pgbouncer = {
  /** The address of a database of that server, changed to go through the pooler. */
  through(dsn: string): string;
  /** Ends it at once, with all connections, and starts it again. */
  restart(): Promise<void>;
  close(): Promise<void>;
};

/** @param dsn of the server @param poolSize its connections to the server for each database */
export async function startPgbouncer(dsn: string, poolSize: number): Promise<Pgbouncer> {
  const { hostname, port: serverPort, username, password } = new URL(dsn);
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'svc-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  const login = `user='${decodeURIComponent(username)}'${password && ` password='${decodeURIComponent(password)}'`}`;
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${serverPort || 5432} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 200
server_login_retry = 1
logfile = ${join(folder, 'log')}
`,
    { mode: 0o600 },
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    for (const path of [folder, file]) chownSync(path, NOBODY, NOBODY);
    chmodSync(folder, 0o700);
  }
  const start = async () => {
    const started = spawn(PROGRAM, ['-q', file], { stdio: 'ignore', ...(isRoot && { uid: NOBODY, gid: NOBODY }) });
    await eventually('the pooler to listen', () => listens(port), 20_000);
    return started;
  };
  let child = await start();
  const end = async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    through: (of) => {
      const url = new URL(of);
      url.hostname = '127.0.0.1';
      url.port = String(port);
      return url.href;
    },
    restart: async () => {
      await end();
      child = await start();
    },
    close: async () => {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const listens = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
      .on('connect', () => {
        socket.destroy();
        done(true);
      })
      .on('error', () => done(false));
  });
