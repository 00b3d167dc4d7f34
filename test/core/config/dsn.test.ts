/** Addresses of a PostgreSQL server: those that the driver cannot read are refused, and no others. */
import postgres from 'postgres';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { dsnParts, dsnProblem } from '../../../core/config/dsn.ts';

const test = suite('the address of a PostgreSQL server');

const READABLE = [
  'postgres://db',
  'postgresql:///b?host=/run/postgresql',
  'postgres://svc@db.internal:5432/svc',
  'postgres://svc:@db/svc',
  'postgres://svc:se%2Fk%23r%25et@db/svc?sslmode=require&application_name=a%40b',
  'postgres://svc:s@cret@db/svc',
  'postgres://u:p@a:1,b:2/svc?target_session_attrs=read-write',
  'postgres://a,b:2/svc',
  'postgres://svc@%2Frun%2Fpostgresql/svc',
  'postgres://svc@[::1]:5432/svc',
];

const UNREADABLE = [
  'postgres://svc:se/kret@127.0.0.1:55433/db',
  'postgres://svc:se#kret@127.0.0.1:55433/db',
  'postgres://svc:se?kret@127.0.0.1:55433/db',
  'postgres://svc:sek%ret@127.0.0.1:55433/db',
  'postgres://s%vc:kret@127.0.0.1:55433/db',
  'postgres://svc:se/kret@a:1,b:2/db',
  'postgres://svc:kret@db:many/svc',
];

test('what the driver reads is an address', () => {
  for (const dsn of READABLE) {
    assert.is(dsnProblem(dsn), null, dsn);
    postgres(dsn);
  }
  assert.is(dsnProblem(''), null);
  assert.is(dsnProblem('postgres://a,b/svc?target_session_attrs=any'), null);
});

test('what it cannot read is refused with what to do, without a part of it', () => {
  for (const dsn of UNREADABLE) {
    assert.throws(() => postgres(dsn), undefined, dsn);
    assert.match(dsnProblem(dsn) ?? '', /^must be an address that can be read: in its user and password .* are %25,/);
    assert.not.match(dsnProblem(dsn) ?? '', 'kret');
  }
  assert.match(dsnProblem('mysql://svc:kret@db') ?? '', /^must be empty or begin with 'postgres:\/\/', such as/);
});

test('a mode of TLS that nobody knows is refused, without being quoted', () => {
  const withMode = (mode: string) => dsnProblem(`postgres://svc@db/svc?application_name=a&sslmode=${mode}`);
  for (const mode of ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'])
    assert.is(withMode(mode), null, mode);
  for (const mode of ['foo', 'no-verify', 'Require', '', 'require&sslmode=foo'])
    assert.match(withMode(mode) ?? '', /^must have as its sslmode one of disable, allow, .*, verify-full$/, mode);
});

test('the files of libpq for TLS are refused with what to do instead, and not quoted', () => {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey'])
    assert.is(
      dsnProblem(`postgres://svc@db/svc?sslmode=verify-full&${name}=/etc/kret.pem`),
      `must have no ${name}: the authority of its certificate belongs in NODE_EXTRA_CA_CERTS, and svc has no client certificate`,
    );
});

test('which of several hosts is wanted is a word of libpq, and is not left to the driver', () => {
  assert.match(
    dsnProblem('postgres://a,b/svc?target_session_attrs=master') ?? '',
    /^must have as its target_session_attrs one of any, read-write, primary, read-only, standby, prefer-standby$/,
  );
  assert.equal(dsnParts('postgres://a,b/svc?sslmode=require&target_session_attrs=read-write'), {
    forDriver: 'postgres://a,b/svc?sslmode=require',
    roles: ['primary'],
  });
  const plain = 'postgres://u:p%3Fq@a,b/svc?application_name=a%20b';
  assert.equal(dsnParts(plain), { forDriver: plain, roles: null });
});

test.run();
