/** Whatever is configured, a demo reaches no other service, and runs no cassette of the folder in which it was called. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listFiles, listTexts } from '../../../../core/cassette/list/read-list.ts';
import { demoService } from '../../../../core/cli/demo/demo-service.ts';
import { loadConfig } from '../../../../core/config/load.ts';

const test = suite('service of a demo');
const PROVIDER = 'http://127.0.0.1:1';

const ELSEWHERE = {
  SVC_STORAGE_POSTGRES_DSN: 'postgres://svc@elsewhere.example/svc',
  SVC_PUBLISHER_STREAM_BROKERS: 'elsewhere.example:9092',
  SVC_PUBLISHER_STREAM_TOPIC: 'nodes',
  SVC_PROXY_UPSTREAM: 'https://elsewhere.example',
  SVC_PROXY_UPSTREAMS_ANTHROPIC: 'https://elsewhere.example',
  SVC_VECTOR_STORE_TARGET: 'postgres://svc@elsewhere.example/vectors',
  SVC_EMBEDDING_PROVIDER: 'openai',
  SVC_EMBEDDING_TARGET: 'https://elsewhere.example/v1',
  SVC_EMBEDDING_MODEL: 'model-of-elsewhere',
  SVC_BUDGET_WEBHOOK: 'https://elsewhere.example/events',
  SVC_BUDGET_WEBHOOK_SECRET: 'secret-of-elsewhere',
  SVC_TELEMETRY_ENDPOINT: 'https://elsewhere.example/otlp',
  SVC_TELEMETRY_HEADERS: 'authorization=elsewhere',
  SVC_UPDATE_DISABLED: 'false',
};
const LISTEN = { SVC_PROXY_LISTEN: ':0', SVC_API_LISTEN: ':0', SVC_INGEST_LISTEN: ':0' };

let cwd = '';
let folder = '';
test.before.each(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'svc-clone-'));
  folder = await mkdtemp(join(tmpdir(), 'svc-demo-'));
});
test.after.each(async () => {
  for (const made of [cwd, folder]) await rm(made, { recursive: true });
});

const demo = (env: Record<string, string>) => {
  const loaded = loadConfig({ flags: {}, env: { ...LISTEN, ...env }, cwd, home: cwd });
  const io = { cwd, home: cwd, env, out: () => {}, err: () => {} };
  return demoService(loaded, io as unknown as Parameters<typeof demoService>[1], { folder, provider: PROVIDER });
};

test('no setting leads to another service', async () => {
  const { config } = (await demo(ELSEWHERE)).loaded;
  assert.not.match(JSON.stringify(config), 'elsewhere');
  assert.equal(config.publisher.stream, { brokers: [], topic: '', client_id: 'svc' });
  assert.is(config.embedding.provider, 'local');
  assert.is(config.update.disabled, true);
  assert.is(config.proxy.upstreams.anthropic, PROVIDER);
});

test("a clone's list of cassettes is none of the demo's; its prices are read from where it was called", async () => {
  await writeFile(join(cwd, 'cassette.manifest.json'), '{"cassettes":[]}');
  const { loaded, io } = await demo({ SVC_PRICING_FILE: 'prices.json' });
  const { users } = await listTexts(listFiles({ cwd: io.cwd, folder: loaded.folder }));
  assert.is(users.file, null);
  assert.is(loaded.config.pricing.file, join(cwd, 'prices.json'));
});

test.run();
