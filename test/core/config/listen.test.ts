import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listenersClash, listenProblem, parseListen } from '../../../core/config/listen.ts';
import { OperatorError } from '../../../core/errors.ts';

const test = suite('listen addresses');

const RIGHT: [string, string[], number, boolean][] = [
  [':8080', ['127.0.0.1', '::1'], 8080, true],
  [':0', ['127.0.0.1', '::1'], 0, true],
  ['localhost:9000', ['127.0.0.1', '::1'], 9000, true],
  ['127.0.0.1:65535', ['127.0.0.1'], 65_535, true],
  ['127.1.2.3:1', ['127.1.2.3'], 1, true],
  ['0.0.0.0:8081', ['0.0.0.0'], 8081, false],
  ['[::]:8081', ['::'], 8081, false],
  ['[::1]:0', ['::1'], 0, true],
  ['[2001:db8::7]:80', ['2001:db8::7'], 80, false],
  ['svc.internal:8080', ['svc.internal'], 8080, false],
  ['127.evil.example:80', ['127.evil.example'], 80, false],
];
for (const [text, hosts, port, loopback] of RIGHT) {
  test(`'${text}'`, () => assert.equal(parseListen(text), { hosts, port, loopback }));
}

const WRONG: [string, string][] = [
  ['', 'must have a port after a colon'],
  ['8080', 'must have a port after a colon'],
  ['localhost', 'must have a port after a colon'],
  [':', 'must end in a port'],
  [':65536', 'must end in a port'],
  [':-1', 'must end in a port'],
  [':http', 'must end in a port'],
  [':1e3', 'must end in a port'],
  [': 80', 'must end in a port'],
  ['*:80', "'0.0.0.0' is every IPv4 address"],
  ['http://localhost:80', 'without a scheme'],
  ['::1:80', 'in brackets'],
  ['[::1:80', 'in brackets'],
  ['[nonsense]:80', 'must be a host and a port'],
  ['[127.0.0.1]:80', 'must be a host and a port'],
  ['-x:80', 'must be a host and a port'],
  ['a b:80', 'must be a host and a port'],
  ['a/b:80', 'must be a host and a port'],
];
for (const [text, why] of WRONG) {
  test(`'${text}' is refused`, () => {
    assert.match(listenProblem(text) ?? '', why);
    assert.throws(
      () => parseListen(text),
      (error: unknown) => error instanceof OperatorError && error.exitCode === 2,
    );
  });
}

test('two listeners clash on one port of a shared host, or where one takes every host', () => {
  const clash = (a: string, b: string) => listenersClash(parseListen(a), parseListen(b));
  assert.ok(clash(':80', 'localhost:80'));
  assert.ok(clash('127.0.0.1:80', ':80'));
  assert.ok(clash('0.0.0.0:80', '127.0.0.1:80'));
  assert.ok(clash('127.0.0.1:80', '[::]:80'));
  assert.not(clash(':0', ':0'));
  assert.not(clash(':80', ':81'));
  assert.not(clash('127.0.0.1:80', '[::1]:80'));
});

test.run();
