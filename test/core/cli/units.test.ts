/** Numbers as a person reads them, and text that cannot misuse a terminal. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { counted, lasting, plain, several, sized } from '../../../core/cli/units.ts';
import { whereData } from '../../../core/cli/where-data.ts';

const test = suite('units');

test('sizes have three digits at most, and a unit of a thousand', () => {
  const cases: [number, string][] = [
    [0, '0 bytes'],
    [999, '999 bytes'],
    [1_000, '1 kB'],
    [1_234_567, '1.2 MB'],
    [99_960_000, '100 MB'],
    [475_559_603, '476 MB'],
    [1_073_741_824, '1.1 GB'],
    [5e15, '5,000 TB'],
  ];
  for (const [bytes, text] of cases) assert.is(sized(bytes), text);
});

test('counts have their thousands apart and their noun in number', () => {
  assert.is(counted(12_345), '12,345');
  assert.equal([several(0, 'turn'), several(1, 'turn'), several(2_000, 'turn')], ['0 turns', '1 turn', '2,000 turns']);
});

test('durations name two units at most, and are never negative', () => {
  const cases: [number, string][] = [
    [-5, '0 s'],
    [3.9, '3 s'],
    [60, '1 min'],
    [3_600, '1 h'],
    [7_530, '2 h 5 min'],
    [86_400, '1 day'],
    [270_000, '3 days 3 h'],
  ];
  for (const [seconds, text] of cases) assert.is(lasting(seconds), text);
});

test('control and direction characters are replaced, all else stays', () => {
  assert.is(plain('می‌خواهم 👩‍👧'), 'می‌خواهم 👩‍👧');
  assert.is(plain('a\u001b[31mb\nc\u202ed\u2028é漢'), 'a\ufffd[31mb\ufffdc\ufffdd\ufffdé漢');
});

test('of a DSN host and database are shown, and nothing that could be part of a password', () => {
  assert.is(whereData('', '/home/me/.svc'), '/home/me/.svc/data');
  const shown: [string, string][] = [
    ['postgres://svc:pass%40word@db.internal:5432/turns?sslmode=require', 'PostgreSQL at db.internal:5432/turns'],
    ['postgres://db.internal/turns', 'PostgreSQL at db.internal/turns'],
    ['postgres://svc:12/word@db.internal/turns', 'PostgreSQL at storage.postgres_dsn'],
    ['postgres://svc:12#word@db.internal/turns', 'PostgreSQL at storage.postgres_dsn'],
    ['postgres://svc:12?word@db.internal/turns', 'PostgreSQL at storage.postgres_dsn'],
    ['postgres://svc:a@12/word@db.internal/turns', 'PostgreSQL at storage.postgres_dsn'],
    ['postgres://svc:word@one:5432,two:5432/turns', 'PostgreSQL at storage.postgres_dsn'],
  ];
  for (const [dsn, text] of shown) assert.is(whereData(dsn, ''), text);
});

test.run();
