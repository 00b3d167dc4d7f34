/**
 * Databases of a Citus cluster for tests: one on each node, which know each other. `SVC_TEST_CITUS_DSN` names a database of the cluster's
 * coordinator that knows its workers. A suite for a server runs distributed when `SVC_TEST_DSN` names the same.
 */
import { sql as statement } from 'drizzle-orm';
import { openPool } from '../../core/db/client/server.ts';
import { FOREIGN_SERVER } from '../../core/db/distribute/remote-views.ts';
import { DatabaseError } from '../../core/errors.ts';
import { retry } from '../../core/retry.ts';

export const isCitus = (dsn: string): boolean => dsn !== '' && dsn === process.env.SVC_TEST_CITUS_DSN;

/** What a service needs in its environment besides the DSN of a database of such a cluster. */
export const citusEnvironment = (dsn: string | undefined): Record<string, string> =>
  dsn && isCitus(process.env.SVC_TEST_DSN ?? '') ? { SVC_STORAGE_DISTRIBUTED: 'citus' } : {};

/** A database that tests clone: it has the extension and knows the workers. */
const EMPTY = 'svc_template_citus';

let found: Promise<string[]> | undefined;

/** DSNs of the coordinator and its workers, each with the database of `dsn`. */
export function nodesOf(dsn: string): Promise<string[]> {
  found ??= onNode(dsn, async (rows) => {
    const workers = await rows(
      `select node_name as host, node_port as port from citus_get_active_worker_nodes() order by 2`,
    );
    return [dsn, ...workers.map(({ host, port }) => withHost(dsn, `${host}:${port}`))];
  });
  return found;
}

/** Runs statements on every node, the coordinator first. */
export async function onNodes(dsn: string, text: string): Promise<void> {
  for (const node of await nodesOf(dsn)) await onNode(node, (rows) => rows(text));
}

/** Drops it on every node. The extension opens sessions in a database whenever it likes, which then cannot be dropped at once. */
export const dropOnNodes = (dsn: string, name: string): Promise<void> =>
  retry(() => onNodes(dsn, `drop database if exists ${name} with (force)`), {
    ...{ firstMs: 100, maxMs: 1_000 },
    signal: AbortSignal.timeout(60_000),
    isRetryable: (error) => error instanceof DatabaseError && error.sqlstate === '55006',
  });

/** Makes `name` on every node, a copy of `template`. */
export async function createOnNodes(dsn: string, name: string, template: string): Promise<void> {
  const from = template === 'template0' ? await emptyTemplate(dsn) : template;
  await onNodes(dsn, `create database ${name} template ${from}`);
  await onNode(withDatabase(dsn, name), (rows) =>
    rows(`alter server ${FOREIGN_SERVER} options (set dbname '${name}')`),
  );
}

/** Makes a database one to be copied: Citus keeps sessions open in each that it knows, and one that is in use cannot be copied. */
export async function closeTemplate(dsn: string, name: string): Promise<void> {
  await onNodes(dsn, `alter database ${name} allow_connections false`);
  await onNodes(dsn, `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`);
}

async function emptyTemplate(dsn: string): Promise<string> {
  await onNode(dsn, async (rows) => {
    await rows(`select pg_advisory_lock(hashtext('${EMPTY}'))`);
    const [made] = await rows(`select 1 as one from pg_database where datname = '${EMPTY}' and not datallowconn`);
    if (made) return;
    await onNodes(dsn, `drop database if exists ${EMPTY} with (force)`);
    await onNodes(dsn, `create database ${EMPTY} template template0`);
    const nodes = (await nodesOf(dsn)).map((node) => withDatabase(node, EMPTY));
    for (const node of nodes) await onNode(node, (run) => run('create extension citus'));
    const [coordinator = '', ...workers] = nodes;
    await onNode(coordinator, async (run) => {
      await run(`select citus_set_coordinator_host('${new URL(coordinator).hostname}', ${new URL(coordinator).port})`);
      for (const worker of workers) {
        const { hostname, port } = new URL(worker);
        await run(`select citus_add_node('${hostname}', ${port})`);
      }
    });
    await onNode(coordinator, async (run) => {
      const { hostname, port, username } = new URL(coordinator);
      await run('set citus.enable_ddl_propagation = off');
      await run('create extension postgres_fdw');
      await run(
        `create server ${FOREIGN_SERVER} foreign data wrapper postgres_fdw options (host '${hostname}', port '${port}', dbname '${EMPTY}')`,
      );
      await run(
        `create user mapping for ${username} server ${FOREIGN_SERVER} options (user '${username}', password_required 'false')`,
      );
    });
    await closeTemplate(dsn, EMPTY);
  });
  return EMPTY;
}

/** Gives a login, which is no superuser, the database of `dsn` and what it needs of the cluster. */
export async function giveToLogin(
  dsn: string,
  { login, password }: { login: string; password: string },
): Promise<void> {
  const name = new URL(dsn).pathname.slice(1);
  await onNodes(dsn, `alter database ${name} owner to ${login}`);
  await onNode(dsn, async (run) => {
    await run('set citus.enable_ddl_propagation = off');
    await run(`grant usage on foreign server ${FOREIGN_SERVER} to ${login}`);
    await run(
      `create user mapping for ${login} server ${FOREIGN_SERVER} options (user '${login}', password '${password}', password_required 'false')`,
    );
  });
}

type Rows = (text: string) => Promise<Record<string, unknown>[]>;

/** Over one connection, so that a lock of the session is held until the end. */
async function onNode<T>(dsn: string, work: (rows: Rows) => Promise<T>): Promise<T> {
  const pool = openPool({ dsn, pooled: false, size: 1 });
  const sql = pool.sqlFor(120_000);
  try {
    return await work((text) => sql.rows(statement.raw(text)));
  } finally {
    await pool.close();
  }
}

function withHost(dsn: string, host: string): string {
  const url = new URL(dsn);
  url.host = host;
  return url.href;
}

function withDatabase(dsn: string, name: string): string {
  const url = new URL(dsn);
  url.pathname = `/${name}`;
  return url.href;
}
