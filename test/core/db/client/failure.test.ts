/** Which errors of a driver are the server's condition, which a retry outlasts, and which lose the connection. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectionIsLost, databaseError } from '../../../../core/db/client/failure.ts';
import { whyUnavailable } from '../../../../core/db/client/why-unavailable.ts';
import { DatabaseError } from '../../../../core/errors.ts';

const test = suite('failures of the database');

/** As postgres.js throws it. */
const thrown = (fields: Record<string, string>) => Object.assign(new Error(fields.message), fields);

for (const [what, fields, why] of [
  [
    "a pooler's own error, which has no severity for programs",
    { severity_local: 'FATAL', code: '08P01', message: 'bouncer config error' },
    'the database cannot be reached',
  ],
  [
    'no connection left',
    { severity_local: 'FATAL', severity: 'FATAL', code: '53300', message: 'sorry, too many clients already' },
    'the database has no connection left',
  ],
  [
    'a session that was ended',
    { severity_local: 'FATAL', severity: 'FATAL', code: '57P01', message: 'terminating connection' },
    'the database is starting or stopping',
  ],
  ['a reset', { code: 'ECONNRESET', message: 'read ECONNRESET' }, 'the database cannot be reached'],
  [
    'a server that became a standby',
    { severity: 'ERROR', code: '25006', message: 'cannot execute INSERT in a read-only transaction' },
    'the database takes no writes',
  ],
] as const)
  test(`${what}: it is waited out, on another connection, and a probe shows nothing of its message`, () => {
    const error = databaseError(thrown(fields));
    assert.instance(error, DatabaseError);
    assert.is((error as DatabaseError).transient, true);
    assert.is(connectionIsLost(thrown(fields)), true);
    assert.is(whyUnavailable(error), why);
  });

for (const [code, why] of [
  ['SELF_SIGNED_CERT_IN_CHAIN', "the server's certificate is not trusted: NODE_EXTRA_CA_CERTS can name its authority"],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate is not trusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate is not trusted'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'certificate is not trusted'],
  ['CERT_REVOKED', 'certificate is not trusted'],
  ['INVALID_PURPOSE', 'certificate is not trusted'],
  ['CERT_HAS_EXPIRED', "the server's certificate has expired"],
  ['CERT_NOT_YET_VALID', 'certificate is not valid yet'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', "the server's certificate is for another host"],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'agree on no TLS'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'agree on no TLS'],
] as const)
  test(`${code}: no session is begun, which is waited out like a lost connection, and its message quotes no name`, () => {
    const fields = { code, message: "Host: db.internal. is not in the cert's altnames" };
    const error = databaseError(thrown(fields)) as DatabaseError;
    assert.instance(error, DatabaseError);
    assert.is(error.transient, true);
    assert.is(connectionIsLost(thrown(fields)), true);
    assert.match(error.message, why);
    assert.match(error.message, `(${code})`);
    assert.not.match(error.message, 'db.internal');
    assert.is(whyUnavailable(error), 'the database cannot be reached');
  });

test('a code of our own calls is a bug still', () => {
  for (const code of ['ERR_INVALID_ARG_TYPE', 'UNDEFINED_VALUE', 'MAX_PARAMETERS_EXCEEDED']) {
    const error = thrown({ code, message: code });
    assert.is(databaseError(error), error);
    assert.is(connectionIsLost(error), false);
  }
});

test('a refused value is no condition of the server: it is not tried again, and its connection stays', () => {
  const fields = { severity: 'ERROR', severity_local: 'ERROR', code: '22P05', message: 'unsupported Unicode' };
  assert.is((databaseError(thrown(fields)) as DatabaseError).transient, false);
  assert.is(connectionIsLost(thrown(fields)), false);
});

test.run();
