import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { stringify } from 'smol-toml';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigKey, keyOf, keys, nested, valueAt } from '../../../core/config/keys.ts';
import { type Flags, type LoadedConfig, loadConfig } from '../../../core/config/load.ts';
import { OperatorError } from '../../../core/errors.ts';

/** For every key two values that are not its default, as text and as they come out. */
const SAMPLES: Record<string, [string, unknown][]> = {
  'storage.postgres_dsn': [
    ['postgres://u:pw-one@db:5432/a', 'postgres://u:pw-one@db:5432/a'],
    ['postgresql:///b?host=/run/postgresql', 'postgresql:///b?host=/run/postgresql'],
  ],
  'storage.pooled': booleans(),
  'storage.distributed': words('citus', ''),
  'storage.partitioned': words('month', 'day'),
  'publisher.stream.brokers': [
    ['k1:9092, k2:9093', ['k1:9092', 'k2:9093']],
    ['k3:9092', ['k3:9092']],
  ],
  'publisher.stream.topic': words('nodes', 'svc.nodes'),
  'publisher.stream.client_id': words('one', 'two'),
  'proxy.provider': words('anthropic', 'openai'),
  'proxy.upstream': words('http://localhost:1', 'https://gateway.example/base'),
  'proxy.upstreams.anthropic': words('http://localhost:1', 'https://gateway.example/base'),
  'proxy.upstreams.gemini': words('http://localhost:1', 'https://gateway.example/base'),
  'proxy.upstreams.openai': words('http://localhost:1', 'https://gateway.example/base'),
  'proxy.upstreams.ollama': words('http://localhost:1', 'https://gateway.example/base'),
  'proxy.listen': words('0.0.0.0:9080', '[::1]:0'),
  'proxy.project': words('tapestry', 'größer'),
  'capture.mode': words('metadata', 'off'),
  'capture.max_body_bytes': integers(1024, 4096),
  'journal.max_bytes': integers(1_048_576, 2_000_000),
  'retention.days': integers(1, 90),
  'retention.max_bytes': integers(67_108_864, 5_000_000_000),
  'retention.projects': [
    ['ferrybook=30,a=b=7', ['ferrybook=30', 'a=b=7']],
    ['ledger=forever', ['ledger=forever']],
  ],
  'retention.dry_run': booleans(),
  'api.listen': words('localhost:9081', ':0'),
  'api.web_ui': booleans(),
  'api.base_path': words('/svc', '/tools/svc-1'),
  'cassettes.built_in': booleans(),
  'api.token': words('tok-one', 'tok-two'),
  'api.read_token': words('tok-three', 'tok-four'),
  'api.trust_caller_header': booleans(),
  'ingest.listen': words('ingest.local:9082', ':0'),
  allowed_hosts: [
    ['svc.local,svc.test', ['svc.local', 'svc.test']],
    ['other.local', ['other.local']],
  ],
  'client.proxy_target': words('http://localhost:1', 'https://gateway.example/base'),
  'client.api_target': words('http://localhost:1', 'https://gateway.example/base'),
  'vector_store.target': words('postgres://vectors/a', 'postgres://vectors/b'),
  'embedding.provider': words('ollama', 'openai'),
  'embedding.target': words('http://localhost:1', 'https://gateway.example/base'),
  'embedding.model': words('one', 'two'),
  'embedding.dimensions': integers(768, 384),
  'pricing.file': words('prices.json', '/etc/prices.json'),
  'budget.daily_usd': [...integers(1), ['12.5', 12.5]],
  'budget.monthly_usd': [...integers(400), ['0.01', 0.01]],
  'budget.projects': [
    ['ferrybook.daily_usd=25,a.b.monthly_usd=400', ['ferrybook.daily_usd=25', 'a.b.monthly_usd=400']],
    ['ledger.daily_usd=1', ['ledger.daily_usd=1']],
  ],
  'budget.webhook': words('http://localhost:1/spent', 'https://hooks.example/in?key=1'),
  'budget.webhook_secret': words('one', 'two'),
  'log.level': words('debug', 'silent'),
  'telemetry.endpoint': words('http://localhost:4318', 'https://otel.example/otlp'),
  'telemetry.headers': words('authorization=Bearer%20one', 'x-one=1,x-two=2'),
  'telemetry.disabled': booleans(),
  'update.disabled': booleans(),
};

function words(...texts: string[]): [string, unknown][] {
  return texts.map((text) => [text, text]);
}
function integers(...values: number[]): [string, unknown][] {
  return values.map((value) => [String(value), value]);
}
function booleans(): [string, unknown][] {
  return [
    ['true', true],
    ['false', false],
  ];
}

const test = suite('loadConfig');
let base = '';
test.before.each(() => {
  base = mkdtempSync(join(tmpdir(), 'svc-config-'));
  mkdirSync(join(base, 'cwd'));
  mkdirSync(join(base, 'home'));
});
test.after.each(() => rmSync(base, { recursive: true, force: true }));

const load = (flags: Flags = {}, env: Record<string, string> = {}): LoadedConfig =>
  loadConfig({ flags, env, cwd: join(base, 'cwd'), home: join(base, 'home') });

function put(place: 'cwd' | 'home', toml: string): string {
  const path = join(base, place, '.svc', 'config.toml');
  mkdirSync(join(base, place, '.svc'), { recursive: true });
  writeFileSync(path, toml);
  return path;
}

function refusal(flags: Flags = {}, env: Record<string, string> = {}): string {
  try {
    load(flags, env);
  } catch (error) {
    assert.instance(error, OperatorError);
    assert.is((error as OperatorError).exitCode, 2);
    return (error as OperatorError).message;
  }
  throw new Error('Expected a refusal');
}

/** What belongs to a key so that its setting does not contradict another. */
const beside: Record<string, Record<string, string>> = {
  'publisher.stream.brokers': { 'publisher.stream.topic': 't' },
  'publisher.stream.topic': { 'publisher.stream.brokers': 'k:9092' },
  'api.read_token': { 'api.token': 'tok-one' },
  'storage.distributed': { 'storage.postgres_dsn': 'postgres://db/a' },
  'storage.partitioned': { 'storage.postgres_dsn': 'postgres://db/a' },
};
const named = (key: ConfigKey) => ({ flag: key.flag ?? '', env: key.env ?? '' });
const settable = keys.filter((key) => key.flag !== null);

test('every key has samples here', () => {
  assert.equal(Object.keys(SAMPLES).sort(), settable.map((key) => key.path).sort());
});

test('nothing set: the defaults, and the folder where one stands', () => {
  const { config, folder, file, source } = load();
  for (const key of keys) {
    assert.equal(valueAt(config, key.path), key.default, key.path);
    assert.is(source[key.path], 'default');
  }
  assert.is(folder, join(base, 'cwd', '.svc'));
  assert.is(file, null);
});

for (const key of settable) {
  const [first, second] = SAMPLES[key.path] ?? [];
  if (!first || !second) continue;
  const [firstText, firstValue] = first;
  const [secondText, secondValue] = second;
  const flagsBeside = beside[key.path] ?? {};

  test(`${key.path}: by ${key.flag}`, () => {
    const { config, source } = load({ [key.path]: firstText, ...flagsBeside });
    assert.equal(valueAt(config, key.path), firstValue);
    assert.is(source[key.path], 'flag');
  });

  test(`${key.path}: by ${key.env}`, () => {
    const { config, source } = load(flagsBeside, { [named(key).env]: firstText });
    assert.equal(valueAt(config, key.path), firstValue);
    assert.is(source[key.path], 'environment');
  });

  test(`${key.path}: by the file`, () => {
    put('cwd', stringify(nested(new Map([[key.path, firstValue]]))));
    const { config, source } = load(flagsBeside);
    assert.equal(valueAt(config, key.path), firstValue);
    assert.is(source[key.path], 'file');
  });

  test(`${key.path}: a flag outranks the environment, the environment the file`, () => {
    put('cwd', stringify(nested(new Map([[key.path, secondValue]]))));
    const env = { [named(key).env]: firstText };
    assert.equal(valueAt(load(flagsBeside, env).config, key.path), firstValue);
    assert.equal(valueAt(load({ ...flagsBeside, [key.path]: secondText }, env).config, key.path), secondValue);
  });
}

test('the file in the working directory is read instead of the one at home, never both', () => {
  const home = put('home', '[proxy]\nproject = "home"\n[log]\nlevel = "debug"\n');
  assert.is(load().file, home);
  assert.is(load().config.proxy.project, 'home');
  const cwd = put('cwd', '[proxy]\nproject = "cwd"\n');
  assert.is(load().file, cwd);
  assert.is(load().config.proxy.project, 'cwd');
  assert.is(load().config.log.level, 'info');
});

test('the folder in effect: here when it exists, else at home when that is configured, else here', () => {
  mkdirSync(join(base, 'home', '.svc'));
  assert.is(load().folder, join(base, 'cwd', '.svc'));
  put('home', 'version = 0\n');
  assert.is(load().folder, join(base, 'home', '.svc'));
  mkdirSync(join(base, 'cwd', '.svc'));
  assert.is(load().folder, join(base, 'cwd', '.svc'));
  assert.is(load().file, join(base, 'home', '.svc', 'config.toml'));
});

test('booleans: a flag alone is true; 1, 0, yes and no are understood', () => {
  assert.is(load({ 'api.web_ui': true }).config.api.web_ui, true);
  for (const [text, value] of [
    ['1', true],
    ['YES', true],
    ['True', true],
    ['0', false],
    ['no', false],
  ] as const) {
    assert.is(load({}, { SVC_API_WEB_UI: text }).config.api.web_ui, value);
  }
});

test('a prefix is a path of whole segments, and none that the read API has itself', () => {
  assert.is(load().config.api.base_path, '');
  for (const value of ['/svc/', 'svc', '/', '/a//b', '/a/../b', '/.well', '/a b', '/a?b', '/a"b', 'http://a/b'])
    assert.match(refusal({ 'api.base_path': value }), "--api-base-path: must be empty or a path such as '/svc'", value);
  for (const value of ['/v1', '/ui/x', '/sessions'])
    assert.match(refusal({ 'api.base_path': value }), "--api-base-path: must not begin with '/", value);
});

test('budgets of projects may be tables of the file', () => {
  const written =
    '[budget.projects.atlas]\ndaily_usd = 2.5\nmonthly_usd = 40\n[budget.projects."a.b"]\nmonthly_usd = 1\n';
  put('cwd', written);
  const { config } = load();
  assert.equal(config.budget.projects, ['atlas.daily_usd=2.5', 'atlas.monthly_usd=40', 'a.b.monthly_usd=1']);
  for (const wrong of ['daily_usd = 0', 'daily_usd = inf', 'daily_usd = "2"', 'weekly_usd = 1', 'a.daily_usd = 1']) {
    put('cwd', `[budget.projects.atlas]\n${wrong}\n`);
    assert.match(refusal(), "or tables '[budget.projects.<name>]'", wrong);
  }
  put('cwd', '[budget.projects]\natlas = 3\n');
  assert.match(refusal(), "or tables '[budget.projects.<name>]'");
});

test('an empty list is empty, and so is an empty text', () => {
  put('cwd', 'allowed_hosts = ["a.local"]\n[proxy]\nproject = "p"\n');
  const { config } = load({}, { SVC_ALLOWED_HOSTS: '', SVC_PROXY_PROJECT: '' });
  assert.equal(config.allowed_hosts, []);
  assert.is(config.proxy.project, '');
});

test('a file saved with a byte order mark is read', () => {
  put('cwd', '\uFEFF[proxy]\nproject = "p"\n');
  assert.is(load().config.proxy.project, 'p');
});

test('everything wrong is told at once, with its place and what would be right', () => {
  const file = put('cwd', 'proxi = 1\npostgres_dsn = "x"\napi = 3\n[proxy]\nlisten = ":99999"\n[capture]\nmode = 7\n');
  const message = refusal(
    { 'ingest.listen': '8082', 'embedding.dimensions': '1e3' },
    { SVC_PROXY_LISEN: 'x', SVC_LOG_LEVEL: 'inof', SVC_API_WEB_UI: 'maybe', SVC_JOURNAL_MAX_BYTES: '12' },
  );
  assert.equal(message.split('\n'), [
    'Cannot use this configuration:',
    `  - proxi in ${file}: there is no such setting; did you mean 'proxy'?`,
    `  - postgres_dsn in ${file}: there is no such setting; did you mean 'storage.postgres_dsn'?`,
    `  - api in ${file}: must be a table, '[api]' with its settings below`,
    "  - SVC_PROXY_LISEN: there is no such setting; did you mean 'SVC_PROXY_LISTEN'?",
    `  - proxy.listen in ${file}: must end in a port from 0 to 65535, not ':99999'`,
    `  - capture.mode in ${file}: must be one of full, metadata, off, not 7`,
    "  - SVC_LOG_LEVEL: must be one of trace, debug, info, warn, error, silent, not 'inof'; did you mean 'info'?",
    "  - SVC_API_WEB_UI: must be true or false, not 'maybe'",
    '  - SVC_JOURNAL_MAX_BYTES: must be an integer from 1048576 on, not 12',
    "  - --ingest-listen: must have a port after a colon, such as ':8080', '0.0.0.0:8080', 'localhost:8080' or '[::1]:8080', not '8082'",
    "  - --embedding-dimensions: must be an integer from 0 to 16000, not '1e3'",
  ]);
});

test('a value that is wrong but outranked is told all the same', () => {
  put('cwd', '[log]\nlevel = "loud"\n');
  assert.match(refusal({ 'log.level': 'info' }), "not 'loud'");
});

test('a file of another version is refused', () => {
  put('cwd', 'version = 1\n');
  assert.match(refusal(), /version in .*: must be 0, not 1/);
});

test('variables that are no settings are left alone, and those of Kubernetes too', () => {
  const others = {
    SVC_INTERNAL_LISTEN: ':8092',
    SVC_INTERNAL_TOKEN: 't',
    SVC_DATABASE_URL: 'd',
    SVC_CORE_URL: 'c',
    SVC_FIXTURES: 'f',
    SVC_TEST_DSN: 'x',
    SVC_PORT: 'tcp://10.0.0.1:8080',
    SVC_PORT_8080_TCP_ADDR: '10.0.0.1',
    SVC_SERVICE_HOST: '10.0.0.1',
    SVC_PROXY_SERVICE_PORT_HTTP: '8080',
    SVCX: 'not ours',
  };
  assert.equal(load({}, others).config, load().config);
  assert.match(refusal({}, { SVC_PROXY_PORT: '8080' }), 'SVC_PROXY_PORT: there is no such setting');
});

test('addresses: http or https alone, without credentials, query or fragment', () => {
  for (const path of ['proxy.upstream', 'proxy.upstreams.openai', 'client.api_target', 'embedding.target']) {
    for (const wrong of ['localhost:11434', 'ftp://h', 'http://', 'http://u:pw@h', 'http://h/?q=1', 'http://h/#f']) {
      assert.match(refusal({ [path]: wrong }), 'must be an address', `${path} ${wrong}`);
    }
  }
  assert.match(refusal({ 'proxy.upstreams.openai': '' }), 'must be an address');
});

test('allowed hosts: names and addresses, with or without a port', () => {
  const right = ['svc.local', 'svc.local:8443', '10.0.0.7', '[::1]:80', 'fd00::7', 'a_b-c'];
  assert.equal(load({ allowed_hosts: right.join(',') }).config.allowed_hosts, right);
  for (const wrong of ['https://svc.local', 'svc.local/x', '*.svc.local', 'a b', 'u@h']) {
    assert.match(refusal({ allowed_hosts: wrong }), 'must be a list of host names', wrong);
  }
});

test('a broker has a host and a port, and no address that its client cannot read', () => {
  const brokers = (value: string) => refusal({ 'publisher.stream.brokers': value, 'publisher.stream.topic': 't' });
  for (const wrong of ['k1', 'https://k1:9092', 'u@k1:9092'])
    assert.match(brokers(wrong), "a list of 'host:port'", wrong);
  for (const wrong of ['[fd00::5]:9092', 'fd00::5:9092', 'k1:9092,[::1]:9092'])
    assert.match(brokers(wrong), 'must have names instead of IPv6 addresses', wrong);
});

test('brokers and topic stand together or not at all', () => {
  assert.match(
    refusal({ 'publisher.stream.brokers': 'k:9092' }),
    'stream.topic: must be set, since publisher.stream.brokers is',
  );
  assert.match(
    refusal({ 'publisher.stream.topic': 't' }),
    'stream.brokers: must be set, since publisher.stream.topic is',
  );
  assert.match(
    refusal({ 'storage.distributed': 'citus' }),
    'storage.postgres_dsn: must be set, since storage.distributed is: the embedded database is one process',
  );
  assert.match(
    refusal({ 'storage.partitioned': 'week' }),
    'storage.postgres_dsn: must be set, since storage.partitioned is: the embedded database has one partition',
  );
  assert.match(
    refusal({ ...beside['storage.partitioned'], 'storage.partitioned': 'week', 'storage.distributed': 'citus' }),
    'storage.partitioned: must not be set, since storage.distributed is: retention deletes the rows of distributed tables',
  );
  const message = refusal({ 'publisher.stream.topic': 't', 'publisher.stream.brokers': 'k' });
  assert.match(message, "must be a list of 'host:port'");
  assert.not.match(message, 'must be set');
});

test('two listeners cannot have one port', () => {
  assert.match(refusal({ 'api.listen': ':8080' }), "proxy.listen, api.listen: must differ, not ':8080' and ':8080'");
  assert.match(refusal({ 'api.listen': '0.0.0.0:8082' }), 'api.listen, ingest.listen: must differ');
  load({ 'proxy.listen': ':0', 'api.listen': ':0', 'ingest.listen': ':0' });
  load({ 'proxy.listen': '127.0.0.2:8081' });
});

test('no secret is ever repeated, wherever it was put', () => {
  const secret = 'hunter2';
  put(
    'cwd',
    `[storage]\npostgres_dsn = "mysql://u:${secret}@h"\n[api]\ntoken = "a ${secret}"\nlisten = "http://u:${secret}/x@h"\n`,
  );
  const env = {
    SVC_VECTOR_STORE_TARGET: `x${secret}`,
    SVC_PROXY_UPSTREAM: `http://u:${secret}@h`,
    SVC_API_TOKN: secret,
  };
  assert.not.match(refusal({}, env), secret);
  put('cwd', `[storage]\npostgres_dsn = "postgres://u:${secret}@h\n`);
  const message = refusal();
  assert.match(message, /config\.toml, line 2, column \d+: is not TOML: /);
  assert.not.match(message, secret);
});

test('a file that cannot be read is told by its path', () => {
  mkdirSync(join(base, 'cwd', '.svc', 'config.toml'), { recursive: true });
  assert.match(refusal(), /config\.toml: cannot be read: EISDIR/);
});

test('whatever is in the file, the answer is a configuration or an OperatorError', () => {
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.array(fc.string(), { maxLength: 3 }),
    fc.constant({}),
  );
  const path = fc.oneof(
    fc.constantFrom(...keys.map((key) => key.path)),
    fc.stringMatching(/^[a-z_]{1,8}(\.[a-z_]{1,8})?$/),
  );
  fc.assert(
    fc.property(path, value, (name, given) => {
      put('cwd', stringify(nested(new Map([[name, given]]))));
      try {
        const read = name === 'budget.projects' && !Array.isArray(given) ? [] : given; // tables of no project
        assert.equal(valueAt(load().config, name), keyOf(name) ? read : undefined);
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error;
      }
    }),
    { numRuns: 200 },
  );
});

test.run();
