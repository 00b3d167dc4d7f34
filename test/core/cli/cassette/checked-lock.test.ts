import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkedLock } from '../../../../core/cli/cassette/checked-lock.ts';
import { OperatorError } from '../../../../core/errors.ts';

const test = suite('checkedLock');

const integrity = `sha512-${Buffer.alloc(64, 1).toString('base64')}`;
const ours = 'https://npm.acme.example/all/';
const dep = { version: '1.0.0', resolved: `${ours}dep/-/dep-1.0.0.tgz`, integrity };
const source = { version: '0.1.0', resolved: 'file:source.tgz', integrity };
const parts = { registries: ['https://registry.npmjs.org/', ours], tarball: 'source.tgz' };

const lock = (packages: object) =>
  JSON.stringify({ packages: { '': { dependencies: { tally: 'x' } }, 'node_modules/tally': source, ...packages } });
const checked = (packages: object) => checkedLock(lock(packages), parts);
function refusal(packages: object): string {
  try {
    checked(packages);
  } catch (error) {
    assert.instance(error, OperatorError);
    return (error as OperatorError).message;
  }
  throw new Error('Cannot happen: it was taken');
}

test('what comes from a registry of the user, or from inside what does, is taken with its origin', () => {
  const { root, dependencies } = checked({
    'node_modules/dep': dep,
    'node_modules/@a/b': { version: '2.0.0', integrity },
    'node_modules/alias': { ...dep, name: '@a/c' },
    'node_modules/dep/node_modules/in': { version: '3.0.0', inBundle: true },
    'node_modules/dep/node_modules/in/node_modules/deeper': { version: '4.0.0', inBundle: true },
  });
  assert.is(`${root.name}@${root.version}`, 'tally@0.1.0');
  assert.equal(
    dependencies.map(({ name, version, alias, origin }) => `${name}@${version} ${alias} ${origin}`),
    [
      'dep@1.0.0 null from npm.acme.example',
      '@a/b@2.0.0 null from your registry',
      '@a/c@1.0.0 alias from npm.acme.example',
      'in@3.0.0 null inside dep',
      'deeper@4.0.0 null inside dep',
    ],
  );
});

test('what comes from anywhere else is refused by its name, with the place', () => {
  for (const [resolved, place] of [
    ['https://evil.example/dep.tgz'],
    ['http://npm.acme.example/all/dep.tgz'],
    ['https://npm.acme.example/dep.tgz'],
    ['https://npm.acme.example/all/../dep.tgz', 'https://npm.acme.example/dep.tgz'],
    ['https://npm.acme.example.evil.example/all/dep.tgz'],
    ['git+ssh://git@github.com/acme/dep.git#0123', 'git+ssh://github.com/acme/dep.git#0123'],
    ['file:../../../loot.tgz'],
    ['file:source.tgz'],
    ['../../../loot'],
  ] as const)
    assert.match(
      refusal({ 'node_modules/dep': { ...dep, resolved } }),
      `dep@1.0.0 would come from ${place ?? resolved}, which is no registry of yours`,
    );
  const secret = refusal({
    'node_modules/dep': { ...dep, resolved: 'https://me:hunter2@npm.acme.example/all/dep.tgz' },
  });
  assert.not.match(secret, 'hunter2');
});

test('what has no sha512 over it, no version, or is a link is refused', () => {
  const { integrity: _, ...bare } = dep;
  const cases: [object, string][] = [
    [bare, 'has no sha512'],
    [{ ...dep, integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, 'has no sha512'],
    [{ ...dep, integrity: 'sha512-AAAA' }, 'has no sha512'],
    [{ ...dep, integrity: `${integrity} sha999-x` }, 'has no sha512'],
    [{ ...dep, version: undefined }, 'has no version'],
    [{ resolved: 'node_modules/loot', link: true }, 'would come from node_modules/loot'],
    [{ link: true }, 'would be a link'],
    [{ version: '1.0.0', inBundle: true }, 'has no sha512'],
    [{ ...dep, resolved: true }, 'nowhere known'],
  ];
  for (const [locked, why] of cases) assert.match(refusal({ 'node_modules/dep': locked }), why);
  assert.match(refusal({ '../../loot': { version: '1.0.0', integrity } }), 'would be a link to a folder');
  assert.match(
    refusal({ 'node_modules/tally/node_modules/in': { ...bare, resolved: 'https://evil.example/x', inBundle: true } }),
    'in@1.0.0 would come from https://evil.example/x',
  );
});

test('every refusal is named at once, on lines that move no cursor', () => {
  const message = refusal({ 'node_modules/a\u001b[2J': { version: '1' }, 'node_modules/b': { version: '1' } });
  assert.is(message.split('\n').length, 3);
  assert.not.match(message, '\u001b');
});

test.run();
