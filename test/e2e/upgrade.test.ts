/** What earlier builds left behind opens in this one: the same totals, every session, and nothing for `svc verify` to find. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CassetteList } from '../../core/model/cassette.ts';
import type { StatsSeries } from '../../core/model/stats-series.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { fixtureFolder } from '../support/fixtures.ts';
import { restoreDump } from '../support/restore-dump.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService, svc } from '../support/serve.ts';

/** What a build said of its database. */
type Known = {
  stats: Record<string, unknown>;
  coverage: Record<string, number>;
  sessions: Record<string, Record<string, unknown>>;
};

const databases = fixtureFolder('databases');
const builds = databases === null ? [] : readdirSync(databases).filter((name) => !name.includes('.'));
const cluster = process.env.SVC_TEST_DSN ?? '';
const known = (build: string, kind: string): Known =>
  JSON.parse(readFileSync(join(databases ?? '', build, `${kind}.json`), 'utf8'));

const test = suite('databases of earlier builds');

for (const build of builds) {
  test(`the embedded one of ${build}`, async () => {
    const folder = await emptyFolder();
    try {
      execFileSync('tar', ['xzf', join(databases ?? '', build, 'embedded.tar.gz'), '-C', folder]);
      const service = await startService(folder, { SVC_CASSETTES_BUILT_IN: 'true' });
      try {
        assertReported(service);
        await assertKept(service, known(build, 'embedded'));
        await assertParts(service, known(build, 'embedded'));
        await assertAdmitted(service);
      } finally {
        assert.is(await service.stop(), 0);
      }
      await assertVerified(folder);
    } finally {
      await removeFolder(folder);
    }
  });

  if (cluster === '') console.log(`skip: the server database of ${build}: SVC_TEST_DSN is not set`);
  else
    test(`the server's of ${build}`, async () => {
      const folder = await emptyFolder();
      const { dsn, drop } = await emptyServerDatabase(cluster);
      try {
        await restoreDump(dsn, gunzipSync(readFileSync(join(databases ?? '', build, 'server.sql.gz'))).toString());
        mkdirSync(join(folder, '.svc'));
        const env = { SVC_STORAGE_POSTGRES_DSN: dsn, SVC_CASSETTES_BUILT_IN: 'true' };
        const service = await startService(folder, env);
        try {
          assertReported(service);
          await assertKept(service, known(build, 'server'));
          await assertParts(service, known(build, 'server'));
          await assertAdmitted(service);
          await assertVerified(folder, env);
        } finally {
          assert.is(await service.stop(), 0);
        }
      } finally {
        await drop();
        await removeFolder(folder);
      }
    });
}

/** Who waits for a migration reads which one it is. */
const assertReported = (service: Service) =>
  assert.match(service.log(), /"migration":"00\d\d_\w+\.sql".*The database is being migrated/);

/** Newer rules derive it again from the start on, and a session may be half of it meanwhile: in the end all is as it was. */
async function assertKept(service: Service, known: Known): Promise<void> {
  let difference: unknown;
  await eventually('what was kept', async () =>
    assertSame(service, known).then(
      () => true,
      (thrown: unknown) => {
        difference = thrown;
        return false;
      },
    ),
  ).catch(() => {
    throw difference;
  });
}

async function assertSame({ api }: Service, { stats, coverage, sessions }: Known): Promise<void> {
  assert.equal(await read(`${api}/v1/stats`), stats);
  assert.equal((await read<{ outcomes: unknown }>(`${api}/v1/coverage`)).outcomes, coverage);
  const { items } = await read<{ items: { id: string }[] }>(`${api}/v1/sessions?limit=200`);
  assert.equal(items.map(({ id }) => id).sort(), Object.keys(sessions).sort());
  for (const [id, expected] of Object.entries(sessions)) assert.equal(await summaryOf(api, id), expected, id);
}

/**
 * Of costs that were stored without parts the series never claims any: they are `unsplit` until newer rules have derived them again.
 * While they do, the messages of transcripts come a moment after the others; in the end all is there, with its cache tokens.
 */
async function assertParts({ api }: Service, { stats }: Known): Promise<void> {
  const after = await eventually('the parts of each cost', async () => {
    const { cost, ...total } = (await read<StatsSeries>(`${api}/v1/stats/series`)).total;
    const sum = Object.values(cost).reduce<number>((all, part = 0) => all + part, 0);
    assert.ok(Math.abs(sum - total.cost_usd) < 1e-9, 'together the cost');
    const isKnown = cost.unsplit === undefined && cost.cache_read > 0 && cost.output > 0;
    return isKnown && total.turn_count === stats.turn_count && total;
  });
  const { cost_usd, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = after;
  assert.equal(
    { total_cost: cost_usd, input_tokens, output_tokens },
    { total_cost: stats.total_cost, input_tokens: stats.input_tokens, output_tokens: stats.output_tokens },
  );
  assert.ok(cache_read_tokens > 0 && cache_write_tokens > 0);
}

type Document = {
  session: {
    harness_session_id: string;
    display_title: string;
    raw_turn_count: number;
    rollup: Record<string, unknown>;
  };
  traces: { spans: unknown[] }[];
  links: unknown[];
};

async function summaryOf(api: string, id: string): Promise<Record<string, unknown>> {
  const { session, traces, links } = await read<Document>(`${api}/v1/sessions/${id}/traces`);
  return {
    harness_session_id: session.harness_session_id,
    display_title: session.display_title,
    raw_turn_count: session.raw_turn_count,
    usage: session.rollup.usage,
    turn_count: session.rollup.turn_count,
    traces: traces.length,
    spans: traces.reduce((sum, { spans }) => sum + spans.length, 0),
    links: links.length,
  };
}

/** Their own migrations run over what they had. */
const assertAdmitted = ({ api }: Service) =>
  eventually('the cassettes to be admitted', async () => {
    const { cassettes, problems } = await read<CassetteList>(`${api}/v1/cassettes`);
    const refused = problems.filter(({ step }) => step === 'migrate');
    assert.equal(refused, []);
    return cassettes.length === 3 && cassettes.every(({ state }) => state === 'admitted');
  });

async function assertVerified(folder: string, env: Record<string, string> = {}): Promise<void> {
  const { status, out, err } = await svc(folder, ['verify'], env);
  assert.is(status, 0, out + err);
}

if (databases !== null) {
  test('there is one', () => assert.ok(builds.length > 0 && existsSync(databases)));
  test.run();
}
