/** Does a harness behind a proxy of its network reach the capture proxy directly, and all that it reached directly before? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { aroundProxies } from '../../../../core/cli/start/around-proxies.ts';

const test = suite('around the proxies of a network');
const LOCAL = 'http://127.0.0.1:8080';
const both = (value: string) => ({ NO_PROXY: value, no_proxy: value });

test('without a proxy nothing is set', () => {
  assert.equal(aroundProxies({ NO_PROXY: 'a.example', HTTP_PROXY: '' }, LOCAL), {});
});

test('the entries of both names stay, in both', () => {
  const env = {
    https_proxy: 'http://proxy.example:3128',
    NO_PROXY: 'a.example, .b.example',
    no_proxy: 'c.example,a.example',
  };
  assert.equal(aroundProxies(env, LOCAL), both('a.example,.b.example,c.example,127.0.0.1,localhost'));
  assert.equal(aroundProxies({ ...env, NO_PROXY: '' }, LOCAL), both('c.example,a.example,127.0.0.1,localhost'));
});

test('what goes nowhere through a proxy stays so', () => {
  assert.equal(aroundProxies({ ALL_PROXY: 'socks5://proxy.example', NO_PROXY: '*', no_proxy: 'a' }, LOCAL), both('*'));
});

test('the host of a capture proxy elsewhere is added, since svc reaches it directly', () => {
  const env = { HTTP_PROXY: 'http://proxy.example:3128' };
  assert.equal(aroundProxies(env, 'http://svc.example:8080'), both('127.0.0.1,localhost,svc.example'));
  assert.equal(aroundProxies(env, 'http://[fd00::1]:8080'), both('127.0.0.1,localhost,fd00::1'));
});

test.run();
