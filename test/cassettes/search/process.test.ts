import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { localEmbedder } from '../../../cassettes/search/local.ts';
import { manifest } from '../../../cassettes/search/manifest.ts';
import { migrations } from '../../../cassettes/search/migrations.ts';
import { parseManifest } from '../../../core/cassette/admission/manifest.ts';
import { readSettings } from '../../../core/cassette/admission/settings.ts';
import type { Progress } from '../../../core/cassette/contract.ts';
import { type CassetteDatabases, openCassetteDatabases } from '../../../core/cassette/database/cassette-databases.ts';
import { startProcess } from '../../../core/cassette/isolation/process.ts';
import type { HandedDb, RunningCassette } from '../../../core/cassette/running.ts';
import { openLog } from '../../../core/log.ts';
import { builtCassette } from '../../support/built-cassette.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite, emptyServerDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import type { Json } from '../../support/read-api.ts';
import { MODELS } from '../../support/search.ts';
import { recordedLog } from '../../support/started-cassette.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('search: in a process of its own', (test, database) => {
  let built: Awaited<ReturnType<typeof builtCassette>>;
  let databases: CassetteDatabases;
  let running: RunningCassette;
  let tmp: string;
  const { log } = recordedLog();
  const find = async (query: string, cassette = running): Promise<Response> =>
    cassette.fetch(new Request(`http://localhost/api/search/spans?${new URLSearchParams({ query })}`));

  test.before(async () => {
    built = await builtCassette('search');
    tmp = await mkdtemp(join(tmpdir(), 'svc-search-'));
    databases = openCassetteDatabases({
      ...{ database: database(), dsn: database().dsn ?? '', pooled: false, log: openLog('silent') },
    });
    const { views = [], extensions = [] } = manifest.depends ?? {};
    await databases.provision({ name: 'search', views, extensions });
    await databases.migrate('search', migrations);
    running = await started({ network: false });
  });
  const started = ({
    network,
    ...config
  }: {
    network: boolean;
    'vector_store.target'?: string;
  }): Promise<RunningCassette> =>
    startProcess(
      {
        ...{ name: 'search', ...built, network, log },
        bindingsFor: () => ({
          ...{ DB: databases.db('search') as HandedDb, CORE: null, LOG: log },
          CONFIG: readSettings(parseManifest(manifest), { models_folder: '/no/such/folder', ...config }),
        }),
      },
      { tmp },
    );
  test.after(async () => {
    await running?.close(0);
    await databases?.close();
    await built?.remove();
    await rm(tmp, { recursive: true, force: true });
  });

  test('it embeds with the local model, without threads, addons, network or a folder that it may write', async () => {
    await storeCalls(
      database(),
      [
        ['how do apples grow', 'on trees'],
        ['how do ships float', 'on water'],
      ].map(([asks = '', answers = ''], i) =>
        journalCall(`session-${i}`, { at: i, says: [user(asks)], answers: answer(answers) }),
      ),
    );
    await deriveAll(database());
    await running.scheduled({ scheduled_at: 0, signal: new AbortController().signal });
    assert.equal(running.progress(), { done: 2, pending: 0, failed: 0 } satisfies Progress);
    const response = await find('vessels at sea');
    assert.is(response.status, 200, await response.clone().text());
    assert.is(((await response.json()) as Json).results[0].user_prompt, 'how do ships float');
    assert.is(running.liveness().restarts, 0);
  });

  test('its vectors are those of the native library, to a thousandth', async () => {
    const rows = await database().sql(
      'select snippet, embedding::text as embedding from cassette_search.span_embeddings order by snippet',
    );
    assert.is(rows.length, 2);
    const texts = rows.map(({ snippet }) => String(snippet).replace(/(grow|float) /, '$1\n'));
    const native = await localEmbedder({ model: '', models: MODELS, dimensions: 0 }).embed(texts);
    for (const [i, { embedding }] of rows.entries()) {
      const off = (JSON.parse(String(embedding)) as number[]).map((value, at) =>
        Math.abs(value - (native[i]?.[at] ?? 1)),
      );
      assert.ok(Math.max(...off) < 1e-3, String(Math.max(...off)));
    }
  });

  test('with the network it reaches a database of their own for vectors', async () => {
    const cluster = process.env.SVC_TEST_DSN ?? '';
    if (cluster === '') return;
    const own = await emptyServerDatabase(cluster);
    const other = await started({ network: true, 'vector_store.target': own.dsn });
    try {
      await other.scheduled({ scheduled_at: 0, signal: new AbortController().signal });
      const response = await find('vessels at sea', other);
      assert.is(response.status, 200, await response.clone().text());
      assert.is(((await response.json()) as Json).results[0].user_prompt, 'how do ships float');
    } finally {
      await other.close(0);
      await own.drop();
    }
  });

  test('a text of the greatest length fits into its memory', async () => {
    for (let i = 0; i < 3; i++) assert.is((await find(`${i} ! ? `.repeat(200))).status, 200);
    assert.is(running.liveness().restarts, 0);
  });
});
