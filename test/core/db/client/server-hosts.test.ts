/** A DSN with several hosts: the primary is found wherever it stands, also after a fail-over, and a host that is away is passed over. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { sql } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../../../core/db/client/server.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { eventually } from '../../../support/serve.ts';

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('hosts of a DSN (server)');

/** A message of one row with one column, which is the text 'f'; and 't', as a standby responds to `select pg_is_in_recovery()`. */
const ROW_FALSE = Buffer.from('D\0\0\0\x0b\0\x01\0\0\0\x01f', 'latin1');
const ROW_TRUE = Buffer.from('D\0\0\0\x0b\0\x01\0\0\0\x01t', 'latin1');

type Host = {
  port: number;
  connections: number;
  isStandby: boolean;
  isAway: boolean;
  isSilent: boolean;
  close(): Promise<void>;
};

/** A host before the database, which may be taken for a standby. */
async function startHost(isStandby: boolean): Promise<Host> {
  const { hostname, port: target } = new URL(dsn);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    host.connections++;
    const far = connect(Number(target || 5432), hostname);
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
    if (host.isAway) near.resetAndDestroy();
    if (host.isSilent) return;
    near.pipe(far);
    far.on('data', (bytes: Buffer) => {
      const at = host.isStandby ? bytes.indexOf(ROW_FALSE) : -1;
      if (at >= 0) ROW_TRUE.copy(bytes, at);
      near.write(bytes);
    });
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host: Host = {
    ...{ port: (server.address() as AddressInfo).port, connections: 0, isStandby },
    ...{ isAway: false, isSilent: false },
    async close() {
      const closed = new Promise((done) => server.close(done));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return host;
}

/** A host that ends each connection with an error. */
async function startRefusing(code: string): Promise<{ port: number; close(): Promise<void> }> {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mnot now\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + fields.length);
  const server = createServer((socket) =>
    socket.on('error', () => {}).once('data', () => socket.end(Buffer.concat([Buffer.from('E'), length, fields]))),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((done) => server.close(() => done())),
  };
}

const REFUSED = { port: 1 };

const through = (hosts: readonly { port: number }[], query = '') => {
  const { username, pathname } = new URL(dsn);
  return `postgres://${username}@${hosts.map(({ port }) => `127.0.0.1:${port}`).join(',')}${pathname}${query}`;
};

/** One query over a new pool; its error, or null. */
async function failureThrough(address: string): Promise<Error | null> {
  const pool = openPool({ dsn: address, pooled: false, size: 1 });
  try {
    await pool.sqlFor(5_000).rows(sql`select 1 as one`);
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    await pool.close();
  }
}

const isAway = (error: Error | null, why: string) => {
  assert.instance(error, DatabaseError);
  assert.is((error as DatabaseError).transient, true);
  assert.match(error?.message ?? '', why);
};

test('the primary is found behind a standby and a host that is away, and each later connection begins with it', async () => {
  const hosts = [await startHost(true), await startHost(false)] as const;
  try {
    for (const query of ['', '?target_session_attrs=read-write', '?target_session_attrs=primary']) {
      for (const host of hosts) host.connections = 0;
      const pool = openPool({ dsn: through([REFUSED, ...hosts], query), pooled: false, size: 3 });
      const ask = () => pool.sqlFor(5_000).rows(sql`select 1 as one`);
      await ask();
      await Promise.all([ask(), ask(), ask()]);
      assert.equal([hosts[0].connections, hosts[1].connections], [1, 3], query);
      await pool.close();
    }
  } finally {
    for (const host of hosts) await host.close();
  }
});

test('after a fail-over the next connections lead to the new primary', async () => {
  const hosts = [await startHost(false), await startHost(true)] as const;
  const pool = openPool({ dsn: through(hosts, '?target_session_attrs=primary'), pooled: false, size: 1 });
  const ask = () => pool.sqlFor(5_000).rows(sql`select 1 as one`);
  try {
    await ask();
    await hosts[0].close();
    isAway(
      await ask().then(
        () => null,
        (error: Error) => error,
      ),
      'Cannot ask the database',
    );
    isAway(
      await ask().then(
        () => null,
        (error: Error) => error,
      ),
      'none of its hosts that can be reached is a primary',
    );
    hosts[1].isStandby = false;
    await eventually('the new primary', () => ask().catch(() => null));
  } finally {
    await pool.close();
    await hosts[1].close();
  }
});

test('a new pool begins with the host that another one found last, and does not wait for one that is silent', async () => {
  const hosts = [await startHost(true), await startHost(false), await startHost(true)] as const;
  const address = through(hosts);
  try {
    assert.is(await failureThrough(address), null);
    hosts[0].isSilent = true;
    assert.is(await failureThrough(address), null);
    assert.equal([hosts[0].connections, hosts[1].connections], [1, 2]);
    hosts[1].isAway = true; // and after a fail-over it looks at the others
    hosts[2].isStandby = false;
    assert.is(await failureThrough(address), null);
    assert.is(await failureThrough(address), null);
    assert.equal([hosts[0].connections, hosts[1].connections, hosts[2].connections], [1, 3, 2]);
  } finally {
    for (const host of hosts) await host.close();
  }
});

test('without a primary nothing is read of a standby, unless the DSN takes one', async () => {
  const standby = await startHost(true);
  const primary = await startHost(false);
  try {
    isAway(await failureThrough(through([REFUSED, standby])), 'is a primary');
    assert.is(await failureThrough(through([REFUSED, standby], '?target_session_attrs=any')), null);
    assert.is(await failureThrough(through([standby])), null);
    isAway(await failureThrough(through([standby], '?target_session_attrs=read-write')), 'is a primary');
    isAway(await failureThrough(through([primary], '?target_session_attrs=standby')), 'is a standby');
    for (const target of ['standby', 'read-only', 'prefer-standby']) {
      standby.connections = 0;
      assert.is(await failureThrough(through([primary, standby], `?target_session_attrs=${target}`)), null);
      assert.is(standby.connections, 1, target);
    }
    assert.is(await failureThrough(through([primary], '?target_session_attrs=prefer-standby')), null);
    primary.connections = 0;
    assert.is(await failureThrough(through([standby, primary], '?target_session_attrs=any')), null);
    assert.is(primary.connections, 0);
  } finally {
    await standby.close();
    await primary.close();
  }
});

test('where all hosts are away a query fails soon, after one attempt at each', async () => {
  const hosts = [await startHost(false), await startHost(false)] as const;
  for (const host of hosts) host.isAway = true;
  const began = performance.now();
  try {
    isAway(await failureThrough(through(hosts)), 'Cannot ask the database: the connection is lost');
    isAway(await failureThrough(through([REFUSED, REFUSED])), 'ECONNREFUSED');
    assert.ok(performance.now() - began < 4_000);
    assert.equal([hosts[0].connections, hosts[1].connections], [1, 1]);
  } finally {
    for (const host of hosts) await host.close();
  }
});

test('a host that starts or has no connection left is passed over, one that refuses the login is not', async () => {
  const primary = await startHost(false);
  try {
    for (const code of ['57P03', '53300', '08P01']) {
      const refusing = await startRefusing(code);
      assert.is(await failureThrough(through([refusing, primary])), null, code);
      await refusing.close();
    }
    primary.connections = 0;
    const refusing = await startRefusing('28000');
    isAway(await failureThrough(through([refusing, primary])), '28000');
    assert.is(primary.connections, 0);
    await refusing.close();
  } finally {
    await primary.close();
  }
});

test('those who wait for a connection fail with the one that cannot be opened, each by itself', async () => {
  const pool = openPool({ dsn: through([REFUSED, REFUSED]), pooled: false, size: 1 });
  const queries = Array.from({ length: 4 }, () => pool.sqlFor(5_000).rows(sql`select 1 as one`));
  for (const outcome of await Promise.allSettled(queries)) assert.is(outcome.status, 'rejected');
  await pool.close();
});

if (dsn === '') console.log('skip: hosts of a DSN (server): SVC_TEST_DSN is not set');
else test.run();
