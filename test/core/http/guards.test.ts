import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { refusal, refuseForeign } from '../../../core/http/guards.ts';

const test = suite('guards');

const requestHeaders = (host?: string, origin?: string, secFetchSite?: string) => ({ host, origin, secFetchSite });
const codeOf = (headers: ReturnType<typeof requestHeaders>, allowed: readonly string[] = []) =>
  refusal(headers, allowed)?.code ?? null;

test('loopback in all its spellings may be asked for, whatever the port', () => {
  for (const host of [
    'localhost',
    'localhost:8081',
    'LOCALHOST:1',
    'svc.localhost',
    'localhost.:80',
    '127.0.0.1',
    '127.9.8.7:8081',
  ])
    assert.is(codeOf(requestHeaders(host)), null, host);
  for (const host of ['[::1]', '[::1]:8081', '[0:0:0:0:0:0:0:1]:8081'])
    assert.is(codeOf(requestHeaders(host)), null, host);
});

test('a foreign, missing or malformed host is refused', () => {
  for (const host of [
    undefined,
    '',
    'evil.example',
    'evil.example:8081',
    'localhost.evil.example',
    'evillocalhost',
    '127.0.0.1.evil.example',
    '192.168.1.5:8081',
    '[::2]',
    'localhost@evil.example',
    'localhost:80:80',
    'localhost/..',
    'a b',
    '[::1',
    '128.0.0.1',
  ])
    assert.is(codeOf(requestHeaders(host)), 'foreign-host', String(host));
});

test('allowed hosts may be asked for: by any port, or by the one that is named', () => {
  assert.is(codeOf(requestHeaders('svc.lan:8081'), ['svc.lan']), null);
  assert.is(codeOf(requestHeaders('SVC.LAN'), ['Svc.Lan']), null);
  assert.is(codeOf(requestHeaders('svc.lan:8081'), ['svc.lan:8081']), null);
  assert.is(codeOf(requestHeaders('svc.lan:9'), ['svc.lan:8081']), 'foreign-host');
  assert.is(codeOf(requestHeaders('not-svc.lan'), ['svc.lan']), 'foreign-host');
  assert.is(codeOf(requestHeaders('192.168.1.5:8081'), ['192.168.1.5']), null, 'the address that is bound');
  assert.is(codeOf(requestHeaders('[fd00::5]:8081'), ['fd00::5']), null);
  assert.is(codeOf(requestHeaders('[fd00:0:0::5]:8081'), ['[fd00::5]']), null);
});

test('bound to all addresses, any address may be asked for, but no name', () => {
  for (const everywhere of ['0.0.0.0', '::']) {
    assert.is(codeOf(requestHeaders('192.168.1.5:8081'), [everywhere]), null);
    assert.is(codeOf(requestHeaders('[fd00::5]:8081'), [everywhere]), null);
    assert.is(codeOf(requestHeaders('evil.example:8081'), [everywhere]), 'foreign-host');
  }
});

test('a page may come from where it asks, and from nowhere else', () => {
  assert.is(codeOf(requestHeaders('localhost:8081', 'http://localhost:8081')), null);
  assert.is(codeOf(requestHeaders('[::1]:8081', 'http://[::1]:8081')), null);
  assert.is(codeOf(requestHeaders('localhost:80', 'http://localhost')), null);
  assert.is(
    codeOf(requestHeaders('svc.lan', 'https://svc.lan'), ['svc.lan']),
    null,
    'behind something that speaks TLS',
  );
  for (const origin of [
    'http://localhost:3000',
    'http://127.0.0.1:8081',
    'http://evil.example',
    'null',
    '',
    'file://',
    'http://localhost:8081.evil.example',
    'http://localhost:8081/path',
    'chrome-extension://abcdef',
  ])
    assert.is(codeOf(requestHeaders('localhost:8081', origin)), 'foreign-origin', origin);
  assert.is(codeOf(requestHeaders('localhost:8081', 'https://ui.lan:3000'), ['ui.lan']), null, 'an allowed page');
  assert.is(codeOf(requestHeaders('localhost:8081', 'https://ui.lan:3000'), ['ui.lan:4000']), 'foreign-origin');
});

test('what a browser says of the asking site counts even without an origin', () => {
  for (const site of ['same-origin', 'none', undefined])
    assert.is(codeOf(requestHeaders('localhost:8081', undefined, site)), null);
  for (const site of ['cross-site', 'same-site', 'nonsense', 'none, cross-site'])
    assert.is(codeOf(requestHeaders('localhost:8081', undefined, site)), 'foreign-origin', site);
  assert.is(codeOf(requestHeaders('localhost:8081', 'https://ui.lan', 'cross-site'), ['ui.lan']), null);
  assert.is(codeOf(requestHeaders('localhost:8081', 'http://localhost:8081', 'cross-site')), 'foreign-origin');
});

test('the same rule reads the headers of Node', () => {
  const refuse = refuseForeign(['svc.lan']);
  assert.is(refuse({ host: 'svc.lan:8080' }), null);
  assert.is(refuse({ host: 'localhost', 'sec-fetch-mode': 'cors' }), null, 'fetch of Node');
  assert.is(refuse({ host: 'evil.example' })?.status, 403);
  assert.match(refuse({ host: 'evil.example' })?.message ?? '', '"evil.example"');
  assert.is(refuse({ host: 'localhost', origin: 'http://evil.example' })?.code, 'foreign-origin');
  assert.is(refuse({ host: 'localhost', 'sec-fetch-site': 'cross-site' })?.code, 'foreign-origin');
});

test('what one call was let in for lets in no other', () => {
  const refuse = refuseForeign([]);
  const codes = (headers: Record<string, string>) => refuse(headers)?.code ?? null;
  const page = { host: 'localhost:1', origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };
  for (let again = 0; again < 2; again++) {
    assert.is(codes({ host: 'localhost:1' }), null);
    assert.is(codes(page), 'foreign-origin');
    assert.is(codes({ host: 'localhost:1', 'sec-fetch-site': 'cross-site' }), 'foreign-origin');
    assert.is(codes({ host: 'evil.example' }), 'foreign-host');
    assert.is(codes({}), 'foreign-host');
  }
});

test.run();
