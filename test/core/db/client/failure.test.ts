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

test('a refused value is no condition of the server: it is not tried again, and its connection stays', () => {
  const fields = { severity: 'ERROR', severity_local: 'ERROR', code: '22P05', message: 'unsupported Unicode' };
  assert.is((databaseError(thrown(fields)) as DatabaseError).transient, false);
  assert.is(connectionIsLost(thrown(fields)), false);
});

test.run();
