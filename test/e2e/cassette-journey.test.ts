/** A cassette from its author's first command to its last trace: made, packed, installed, asked, changed behind our back, and removed. */
import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import type { CassetteEvidence } from '../../core/cassette/evidence.ts';
import { openPool } from '../../core/db/client/server.ts';
import { openDatabase } from '../../core/db/open.ts';
import { openLog } from '../../core/log.ts';
import { packageRoot } from '../../core/package-root.ts';
import { cassetteFolder } from '../support/cassette-folder.ts';
import { startTestThread } from '../support/databases.ts';
import { connectMcp } from '../support/mcp.ts';
import { rawSql } from '../support/raw-sql.ts';
import type { Json } from '../support/read-api.ts';
import { emptyFolder, eventually, read, type Service, svc } from '../support/serve.ts';
import { onEachDatabase, type Stand, sessionsOf } from '../support/whole-service.ts';

const TOKEN = 'evidence-is-for-operators';
const LIST = '.svc/cassette.manifest.json';
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const evidence = async ({ internal }: Service): Promise<CassetteEvidence> => {
  const response = await fetch(`${internal}/internal/readiness/evidence`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  assert.is(response.status, 200);
  return (await response.json()) as CassetteEvidence;
};
const evidenceOn = async (service: Service, name: string) =>
  (await evidence(service)).cassettes.find((one) => one.name === name);
const admitted = (service: Service, name: string) =>
  eventually(`${name} to be admitted`, async () => {
    const one = await evidenceOn(service, name);
    return one?.admission === 'admitted' && one;
  });

/** The real CLI, told where this service and its database are. */
async function svcCassette({ folder, dsn, service }: Stand, ...args: string[]): Promise<string> {
  const { status, out, err } = await svc(folder, ['cassette', ...args], {
    SVC_CLIENT_API_TARGET: service.api,
    ...(dsn === '' ? {} : { SVC_STORAGE_POSTGRES_DSN: dsn }),
  });
  assert.is(status, 0, `svc cassette ${args.join(' ')}: ${out}${err}`);
  return out;
}
const listed = async (stand: Stand): Promise<Record<string, [state: string, reason: string | null]>> => {
  const { cassettes } = JSON.parse(await svcCassette(stand, 'list', '--json')) as { cassettes: Json[] };
  return Object.fromEntries(cassettes.map(({ name, state, reason }) => [name, [state, reason]]));
};

const toolsOf = async ({ api }: Service): Promise<string[]> => {
  const mcp = await connectMcp(api);
  const { tools } = await mcp.client.listTools();
  await mcp.close();
  return tools.map(({ name }) => name).filter((name) => !name.startsWith('svc_'));
};
const lines = async (url: string): Promise<Json[]> => {
  const response = await fetch(url);
  assert.is(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', 'application/x-ndjson');
  return (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
};

/** A new cassette as its author would send it: made, built and packed with the commands that he has. */
async function packed(): Promise<string> {
  const folder = await emptyFolder();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { status, err } = await svc(folder, ['cassette', 'new', 'weather']);
  assert.is(status, 0, err);
  const cwd = join(folder, 'weather');
  await symlink(join(packageRoot(), 'node_modules'), join(cwd, 'node_modules')); // for `npm install`, which would ask a registry
  await rm(join(cwd, 'dist'), { recursive: true }); // packing builds it anew
  await promisify(execFile)('npm', ['pack', '--offline'], { cwd, env: { PATH: process.env.PATH, HOME: folder } });
  return join(cwd, 'weather-0.1.0.tgz');
}
const tarball = packed(); // for both databases, while the first service starts

/** What belongs to cassettes in a database that nobody serves from: schemas, roles and the functions that statements run in. */
async function left({ dsn, folder }: Stand): Promise<string[]> {
  const text = `select distinct regexp_replace(name, '_\\d+$', '') as name from (
      select nspname::text as name from pg_namespace
      union all select proname from pg_proc where pronamespace = 'svc_cassettes'::regnamespace
      union all select rolname from pg_roles where $1 or rolname like '%\\_'
        || (select oid from pg_database where datname = current_database())) found
    where name like 'cassette\\_%' order by 1`;
  const log = openLog('silent');
  if (dsn !== '') {
    const pool = openPool({ dsn, pooled: false, size: 1 });
    const rows = await rawSql(pool.sqlFor(60_000), { text, params: ['false'] }).finally(pool.close);
    return rows.map(({ name }) => String(name));
  }
  const opened = await openDatabase({
    ...{ dsn: '', pooled: false, folder: join(folder, '.svc'), log },
    startThread: startTestThread,
  });
  const ask = opened.execute as unknown as (name: string, args: unknown) => Promise<Record<string, unknown>[]>;
  const rows = await ask('rawSql', { text, params: ['true'] }).finally(opened.close);
  return rows.map(({ name }) => String(name));
}

/** As an operator does in an editor. */
async function edit({ folder }: Stand, change: (list: { cassettes: Json[] }) => void): Promise<void> {
  const list = JSON.parse(await readFile(join(folder, LIST), 'utf8'));
  change(list);
  await writeFile(join(folder, LIST), JSON.stringify(list, null, 2));
}

onEachDatabase(
  'the journey of a cassette',
  (test) => {
    test('what its author packed is installed while the service runs, and evidence says what it is', async (stand) => {
      const { service, folder } = stand;
      assert.is((await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' })).status, 200);
      assert.equal(await toolsOf(service), []);
      const out = await svcCassette(stand, 'add', await tarball, '--yes');
      assert.match(out, `Added weather to ${join(folder, LIST)}`);

      const one = await admitted(service, 'weather');
      for (const digest of [one.source_digest, one.manifest_digest, one.openapi_digest])
        assert.match(digest ?? '', DIGEST);
      const [entry] = JSON.parse(await readFile(join(folder, LIST), 'utf8')).cassettes;
      assert.equal([one.source, one.source_digest], [entry.source, entry.digest]);
      assert.equal([one.isolation, one.liveness, one.source_pinned], ['process', 'up', true]);
      assert.ok(['full', 'partial'].includes(one.confinement ?? ''), one.confinement);
      assert.equal([one.openapi_status, one.route_prefix], ['fresh', '/v1/cassettes/weather']);
      const { configuration, ready } = await evidence(service);
      assert.equal([configuration.source_count, configuration.problem, ready], [1, undefined, true]);
      assert.equal(await listed(stand), { weather: ['admitted', null] });
    });

    test('its route streams the sessions that were recorded', async ({ service }) => {
      const sessions = await sessionsOf(service);
      assert.ok(sessions.length > 0);
      const rows = await lines(`${service.api}/v1/cassettes/weather/sessions`);
      assert.equal(rows.map(({ id }) => id).sort(), sessions.map(({ id }) => id).sort());
    });

    test('its background work has stored what the read API told it, in a schema of its own', async (stand) => {
      const counted = () => read<{ counts: Json[] }>(`${stand.service.api}/v1/cassettes/weather/counts`);
      const [first] = await eventually('its first run', async () => {
        const { counts } = await counted();
        return counts.length > 0 && counts;
      });
      assert.type(first?.sessions, 'number');
      const { cassettes } = await read<{ cassettes: Json[] }>(`${stand.service.api}/v1/cassettes`);
      assert.is(cassettes.find(({ name }) => name === 'weather')?.last_run.error, undefined);
    });

    let ticks: ReadableStreamDefaultReader<Uint8Array> | undefined;

    test('what is removed while it runs is gone at once', async (stand) => {
      const { service, folder } = stand;
      await cassetteFolder({ name: 'clock' }, join(folder, 'clock'));
      await edit(stand, ({ cassettes }) => cassettes.push({ name: 'clock', source: '../clock' }));
      await admitted(service, 'clock');
      assert.equal(await toolsOf(service), ['clock_echo', 'weather_longest']);
      ticks = (await fetch(`${service.api}/v1/cassettes/clock/ticks`)).body?.getReader();
      assert.match(new TextDecoder().decode((await ticks?.read())?.value), 'data: tick');

      assert.match(await svcCassette(stand, 'remove', 'clock'), 'Removed clock');
      await eventually('the clock to be gone', async () => {
        const response = await fetch(`${service.api}/v1/cassettes/clock/hello`);
        return response.status === 404 && ((await response.json()) as Json).code === 'cassette-unknown';
      });
      assert.equal(await toolsOf(service), ['weather_longest']);
      assert.is(await evidenceOn(service, 'clock'), undefined);
      const { paths } = await read<{ paths: Json }>(`${service.api}/openapi`);
      assert.equal(
        Object.keys(paths).filter((path) => path.includes('clock')),
        [],
      );
    });

    test('its tool answers by its installed name, and its operations stand in the contract', async ({ service }) => {
      const mcp = await connectMcp(service.api);
      const { structured, isError } = await mcp.call('weather_longest', { limit: 2 });
      await mcp.close();
      assert.is(isError, false);
      assert.is(structured.sessions.length, 2);
      assert.ok(structured.sessions[0].turns >= structured.sessions[1].turns);
      const contract = await read<Json>(`${service.api}/openapi`);
      const ours = Object.keys(contract.paths).filter((path) => path.startsWith('/v1/cassettes/weather/'));
      assert.equal(
        ours.sort(),
        ['counts', 'longest', 'sessions'].map((path) => `/v1/cassettes/weather/${path}`),
      );
      assert.equal(
        Object.keys(contract.paths).filter((path) => path.startsWith('/internal')),
        [],
        'what operators alone may know is no contract',
      );
      const id = (contract: Json) => contract.paths['/v1/cassettes/weather/sessions'].get.operationId;
      assert.is(id(contract), 'weather_listSessions');
      assert.is(id(await read(`${service.api}/v1/cassettes/weather/openapi.json`)), 'listSessions');
    });

    test('under a second name it is another cassette, with tools and a schema of its own', async (stand) => {
      const { service } = stand;
      await svcCassette(stand, 'add', await tarball, '--name', 'north', '--yes', '--config', 'min_turns=100000');
      await admitted(service, 'north');
      assert.equal(await toolsOf(service), ['north_longest', 'weather_longest']);
      const mcp = await connectMcp(service.api);
      const { structured } = await mcp.call('north_longest');
      await mcp.close();
      assert.equal(structured.sessions, [], 'it has settings of its own');
      assert.ok((await lines(`${service.api}/v1/cassettes/weather/sessions`)).length > 0);
    });

    test('an error in the list leaves what was read before in effect, and evidence says where it is', async (stand) => {
      const { service, folder } = stand;
      const good = await readFile(join(folder, LIST), 'utf8');
      const before = (await evidence(service)).configuration;
      await writeFile(join(folder, LIST), good.replace(']', ']]'));
      const problem = await eventually('evidence to tell of the error', async () => {
        const { configuration } = await evidence(service);
        assert.is(configuration.source_list_digest, before.source_list_digest);
        return configuration.problem;
      });
      assert.match(
        problem,
        /cassette\.manifest\.json', line \d+, column \d+: .*; what was read before stays in effect/,
      );
      assert.equal(
        [...(await evidence(service)).cassettes.map(({ admission }) => admission)],
        ['admitted', 'admitted'],
      );
      assert.ok((await lines(`${service.api}/v1/cassettes/weather/sessions`)).length > 0);
      await writeFile(join(folder, LIST), good);
      await eventually('the error to be over', async () => !('problem' in (await evidence(service)).configuration));
    });

    test('a stream of what was removed ends within the time that it has', async () => {
      const ended = (async () => {
        while (ticks && !(await ticks.read()).done);
      })().catch(() => {}); // cut
      const late = new Promise((_, reject) => setTimeout(reject, 15_000, new Error('it goes on')).unref()); // it has 10
      assert.ok(ticks);
      await Promise.race([ended, late]);
    });

    test('one byte of it changed on disk keeps it out at the next start, and nothing else', async (stand) => {
      const { folder } = stand;
      assert.is(await stand.service.stop(), 0);
      const file = join(folder, '.svc/cassettes/weather/node_modules/weather/dist/openapi.js');
      const bytes = await readFile(file);
      bytes[4] = (bytes[4] ?? 0) ^ 1; // in a comment: it would run as before
      await writeFile(file, bytes);

      const service = await stand.start();
      await admitted(service, 'north');
      const { rejection, admission } = await eventually('weather to be looked at', () =>
        evidenceOn(service, 'weather'),
      );
      assert.equal([admission, rejection?.step], ['rejected', 'digest']);
      assert.match(
        rejection?.reason ?? '',
        /it is not what was pinned \(pinned sha256:.*, found sha256:.*\); install it/,
      );
      assert.equal(await listed(stand), {
        north: ['admitted', null],
        weather: ['rejected', rejection?.reason],
      });
      const refused = await fetch(`${service.api}/v1/cassettes/weather/sessions`);
      assert.equal(
        [refused.status, refused.headers.get('content-type'), ((await refused.json()) as Json).code],
        [503, 'application/problem+json', 'cassette-unavailable'],
      );
      assert.ok((await sessionsOf(service)).length > 0);
      assert.equal(await toolsOf(service), ['north_longest']);
    });

    test('removed, it is withdrawn at once with its routes, its tools and its files; what it stored stays', async (stand) => {
      const { service, folder } = stand;
      const out = await svcCassette(stand, 'remove', 'north');
      assert.match(out, "What it has stored stays; 'svc cassette remove north --purge' drops it");
      await eventually('north to be gone', async () => {
        const { status } = await fetch(`${service.api}/v1/cassettes/north/sessions`);
        return status === 404;
      });
      assert.equal(await toolsOf(service), []);
      assert.is(await evidenceOn(service, 'north'), undefined);
      assert.not(existsSync(join(folder, '.svc/cassettes/north')));
      assert.equal(Object.keys(await listed(stand)), ['weather']);
    });

    test('a purge leaves nothing of it in the database, and the other one as it was', async (stand) => {
      assert.is(await stand.service.stop(), 0);
      assert.match(await svcCassette(stand, 'remove', 'weather', '--purge'), /Its schema, .* and its role are gone/);
      assert.equal(await listed(stand), {});
      assert.equal(await left(stand), ['cassette_north']);
      await svcCassette(stand, 'remove', 'north', '--purge'); // its role would outlive the database of this test
    });
    test.run();
  },
  { SVC_INTERNAL_LISTEN: ':0', SVC_INTERNAL_TOKEN: TOKEN },
);
