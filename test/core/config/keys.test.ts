import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keyOf, keys, redacted } from '../../../core/config/keys.ts';
import { Config } from '../../../core/config/schema.ts';

const test = suite('configuration keys');

test('dots and underscores become dashes in a flag and underscores in the environment', () => {
  const { flag, env } = keyOf('storage.postgres_dsn') ?? {};
  assert.is(flag, '--storage-postgres-dsn');
  assert.is(env, 'SVC_STORAGE_POSTGRES_DSN');
});

test('no two keys share a name, and each says what it is', () => {
  for (const names of [keys.map((key) => key.path), keys.map((key) => key.flag), keys.map((key) => key.env)]) {
    assert.is(new Set(names).size, names.length);
  }
  for (const { path, description } of keys) assert.ok(description !== '', path);
});

test('every default is a value that the key would accept', () => {
  for (const { path, schema, default: fallback } of keys) assert.ok(schema.safeParse(fallback).success, path);
});

test('a key that may hold a password or token is a secret', () => {
  const secrets = keys.filter((key) => key.secret).map((key) => key.path);
  assert.equal(secrets, [
    'storage.postgres_dsn',
    'api.token',
    'api.read_token',
    'vector_store.target',
    'budget.webhook',
    'budget.webhook_secret',
    'telemetry.headers',
  ]);
});

test('redacted: secrets that are set are hidden, all else stays', () => {
  const config = Config.parse({ api: { token: 'hunter2' }, storage: { postgres_dsn: 'postgres://u:hunter2@h/d' } });
  const shown = redacted(config);
  assert.not.match(JSON.stringify(shown), 'hunter2');
  assert.is(shown.api.token, '[redacted]');
  assert.is(shown.vector_store.target, '');
  assert.equal(
    { ...shown, api: null, storage: null, update: null, retention: null, budget: null },
    { ...config, api: null, storage: null, update: null, retention: null, budget: null },
  );
});

test.run();
