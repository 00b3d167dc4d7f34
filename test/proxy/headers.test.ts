import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endToEnd, pairs, towardsUpgrade, towardsUpstream } from '../../proxy/headers.ts';

const test = suite('proxy: headers that pass');

const hop = [
  'Connection',
  'KEEP-ALIVE',
  'te',
  'Trailer',
  'Transfer-Encoding',
  'upgrade',
  'Proxy-Connection',
  'proxy-authenticate',
];

test('the end-to-end headers are what is left, in order, as they were', () => {
  const name = fc.constantFrom('Accept', 'accept', 'X-A', 'x-b', 'Set-Cookie', 'Content-Length', 'Date');
  const kept = fc.tuple(name, fc.string());
  const dropped = fc.tuple(fc.constantFrom(...hop), fc.constantFrom('close', 'x', 'Keep-Alive, Upgrade'));
  fc.assert(
    fc.property(fc.array(fc.oneof(kept, dropped)), (headers) => {
      const wanted = headers.filter(([name]) => !hop.includes(name));
      assert.equal(pairs(endToEnd(headers.flat())), wanted);
    }),
  );
});

test('what Connection names goes no further', () => {
  const raw = ['X-A', '1', 'Connection', 'close, x-a ,X-C', 'x-b', '2', 'X-c', '3', 'connection', 'X-D', 'x-d', '4'];
  assert.equal(endToEnd(raw), ['x-b', '2']);
});

test('towards the upstream: its name as host, ours dropped, the framing kept even if Connection names it', () => {
  const raw = [
    'A',
    '1',
    'host',
    'us',
    'X-Svc-Cwd',
    'x',
    'connection',
    'content-length',
    'Content-Length',
    '2',
    'HOST',
    'again',
  ];
  assert.equal(towardsUpstream(raw, 'POST', 'up:1'), ['A', '1', 'host', 'up:1', 'Content-Length', '2']);
  assert.equal(towardsUpstream(['A', '1'], 'GET', 'up'), ['Host', 'up', 'A', '1']);
  assert.equal(towardsUpstream(['Host', 'x'], 'POST', 'up'), ['Host', 'up', 'Content-Length', '0']);
  assert.equal(towardsUpstream(['Transfer-Encoding', 'Chunked'], 'PUT', 'up'), [
    'Host',
    'up',
    'Transfer-Encoding',
    'Chunked',
  ]);
  assert.equal(towardsUpgrade(['Connection', 'Upgrade', 'Upgrade', 'websocket', 'B', '2'], 'GET', 'up'), [
    ...['Host', 'up', 'B', '2', 'Connection', 'Upgrade', 'Upgrade', 'websocket'],
  ]);
});

test.run();
