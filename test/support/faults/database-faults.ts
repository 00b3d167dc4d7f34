/** Faults of a database server for a split service: cut connections, a fail-over, and no connection left, each with what readiness says. */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import * as assert from 'uvu/assert';
import { openPool } from '../../../core/db/client/server.ts';
import { giveToLogin, isCitus } from '../citus-cluster.ts';
import { eventually } from '../serve.ts';
import { type Relay, startRelay } from '../tcp-relay.ts';
import { type Fleet, isReady, type Member } from './fleet.ts';

export type FaultyDatabase = {
  /** For the roles: their own login, without the privileges of a superuser, through the relay. */
  dsn: string;
  relay: Relay;
  /** Ends all sessions of that login. */
  terminate(): Promise<void>;
  /** The server lets that login have no connection, or as many as it wants. */
  fill(isFull: boolean): Promise<void>;
  close(): Promise<void>;
};

/** @param dsn of a database, as a superuser */
export async function faultyDatabase(dsn: string): Promise<FaultyDatabase> {
  const pool = openPool({ dsn, pooled: false, size: 1 });
  const run = (text: string) => pool.sqlFor(60_000).rows(sql.raw(text));
  const name = new URL(dsn).pathname.slice(1);
  const login = `svc_test_${randomUUID().slice(0, 8)}`;
  const password = 'planted-password';
  await run(`create role ${login} login password '${password}'`);
  if (isCitus(process.env.SVC_TEST_DSN ?? '')) await giveToLogin(dsn, { login, password });
  else await run(`alter database ${name} owner to ${login}`);
  const relay = await startRelay(dsn);
  const own = new URL(relay.through(dsn));
  own.username = login;
  own.password = password;
  const terminate = async () => {
    await run(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${login}'`);
  };
  return {
    ...{ dsn: own.href, relay, terminate },
    fill: async (isFull) => {
      await run(`alter role ${login} connection limit ${isFull ? 0 : -1}`);
      if (isFull) await terminate();
    },
    close: async () => {
      await relay.cut().catch(() => {});
      await terminate();
      await run(`reassign owned by ${login} to "${new URL(dsn).username}"`); // Citus does not survive `current_user`
      await run(`drop owned by ${login}`);
      await run(`drop role ${login}`);
      await pool.close();
    },
  };
}

const needsDatabase = (fleet: Fleet) => fleet.members.filter(({ role }) => role !== 'proxy');

const reasonsOf = async ({ service }: Member): Promise<string[]> =>
  ((await (await fetch(`${service?.internal}/ready`)).json()) as { reasons: string[] }).reasons;

/** Waits until each member that needs the database says this, and checks that the proxies stay ready. */
export async function assertUnready(fleet: Fleet, reason: string): Promise<void> {
  for (const member of needsDatabase(fleet))
    await eventually(`${member.name} to say: ${reason}`, async () => (await reasonsOf(member))[0] === reason, 60_000);
  for (const member of fleet.of('proxy')) assert.ok(await isReady(member), 'calls pass');
}

export async function assertReady(fleet: Fleet): Promise<void> {
  for (const member of fleet.members)
    await eventually(`${member.name} to be ready`, async () => isReady(member), 60_000);
}
