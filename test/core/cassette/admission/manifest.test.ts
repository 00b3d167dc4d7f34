/** Does a manifest say what it must, and is everything that is wrong with it told at once? */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Manifest, manifestDigest, ownPrefix, parseManifest } from '../../../../core/cassette/admission/manifest.ts';
import { ListFile } from '../../../../core/cassette/list/list.ts';
import { publishedSchemas } from '../../../../core/cassette/published-schemas.ts';
import { Rejection } from '../../../../core/cassette/running.ts';
import { packageRoot } from '../../../../core/package-root.ts';
import { goodManifest } from '../../../support/cassette-document.ts';
import type { Json } from '../../../support/read-api.ts';

const test = suite('manifest');

const problemsOf = (value: unknown): readonly string[] => {
  try {
    parseManifest(value);
  } catch (error) {
    assert.instance(error, Rejection);
    assert.is((error as Rejection).step, 'manifest');
    return (error as Rejection).problems.length > 0 ? (error as Rejection).problems : [(error as Rejection).message];
  }
  return [];
};
const problemsWith = (change: (manifest: Json) => void) => {
  const manifest = goodManifest();
  change(manifest);
  return problemsOf(manifest);
};
const setting = (given: object) => (manifest: Json) => {
  manifest.config = [{ key: 'one', type: 'string', ...given }];
};

test('what is left out has its default', () => {
  const least = { kind: 'svc.cassette/v1', cassette: { name: 'notes', version: '1' } };
  assert.equal(parseManifest(least), {
    ...least,
    depends: { core: 'v1', views: [], extensions: [] },
    api: { health: '/ping', openapi: '/openapi', prefix_path: 'api' },
    bindings: { db: false, core: false, network: false, forward_auth: false },
    tables: [],
    config: [],
  });
  assert.equal(parseManifest(goodManifest()).config, goodManifest().config);
});

test('everything of a cassette stands below its prefix and name', () => {
  const prefix = (prefix_path?: string) => ownPrefix(parseManifest({ ...goodManifest(), api: { prefix_path } }));
  assert.equal([prefix(), prefix('v2/own'), prefix('/')], ['/api/notes', '/v2/own/notes', '/notes']);
});

const WRONG: Record<string, [change: (manifest: Json) => void, problem: RegExp]> = {
  'another kind': [(m) => (m.kind = 'cassette/v1alpha1'), /^kind: must be "svc\.cassette\/v1"$/],
  'an unknown key': [(m) => (m.publishes = {}), /^publishes: there is no such member$/],
  'an unknown key deeper down': [(m) => (m.cassette.image = 'x'), /^cassette\.image: there is no such member$/],
  'no name': [(m) => delete m.cassette.name, /^cassette\.name: is missing$/],
  'a name in capitals': [(m) => (m.cassette.name = 'Notes'), /^cassette\.name: must be 2 to 32 of a-z/],
  'a name of one letter': [(m) => (m.cassette.name = 'n'), /^cassette\.name: must be 2 to 32/],
  'a blank version': [(m) => (m.cassette.version = ' '), /^cassette\.version: must not be blank$/],
  'a homepage that is no web address': [
    (m) => (m.cassette.homepage = 'javascript:x'),
    /^cassette\.homepage: must be an http/,
  ],
  'a homepage with credentials': [
    (m) => (m.cassette.homepage = 'https://u:p@x.example'),
    /^cassette\.homepage: .*without credentials$/,
  ],
  'a core that is no version': [(m) => (m.depends.core = 'v01'), /^depends\.core: must be a version/],
  'the view of raw turns': [(m) => (m.depends.views = ['raw_turns']), /^depends\.views\[0\]: is never read/],
  'a view of another schema': [(m) => (m.depends.views = ['svc.spans']), /^depends\.views\[0\]: must be 1 to 63/],
  'a view twice': [
    (m) => (m.depends.views = ['spans', 'spans']),
    /^depends\.views\[1\]: the view "spans" stands twice$/,
  ],
  'a path that climbs': [(m) => (m.api = { health: '/api/../ping' }), /^api\.health: must be an absolute path/],
  'a path with a query': [(m) => (m.api = { openapi: '/openapi?x' }), /^api\.openapi: must be an absolute path/],
  'a relative path': [(m) => (m.api = { openapi: 'openapi' }), /^api\.openapi: must be an absolute path/],
  'a path with an escape': [(m) => (m.api = { openapi: '/%2e%2e' }), /^api\.openapi: must be an absolute path/],
  'one path for both': [(m) => (m.api = { health: '/openapi' }), /^api\.openapi: must be another path than health$/],
  'a prefix with capitals': [(m) => (m.api = { prefix_path: 'API' }), /^api\.prefix_path: must be plain segments/],
  'a table twice': [(m) => (m.tables = [{ name: 'a' }, { name: 'a' }]), /^tables\[1\]: the table "a" stands twice$/],
  'a table with a quote': [(m) => (m.tables = [{ name: 'a"b' }]), /^tables\[0\]\.name: must be 1 to 63/],
  'a binding that is no truth': [(m) => (m.bindings.db = 'yes'), /^bindings\.db: must be true or false$/],
  'a schedule of no time': [
    (m) => (m.schedule = { every_seconds: 0 }),
    /^schedule\.every_seconds: must be at least 1$/,
  ],
  'a key in camel case': [setting({ key: 'apiKey' }), /^config\[0\]\.key: must be dotted snake case/],
  'a type that is none': [
    setting({ type: 'float' }),
    /^config\[0\]\.type: must be string, int, bool, duration or json$/,
  ],
  'a secret with a default': [setting({ secret: true, default: 'x' }), /^config\[0\]\.default: must be left out/],
  'a default of another type': [
    setting({ type: 'int', default: '5' }),
    /^config\[0\]\.default: must be a whole number$/,
  ],
  'a default that is not offered': [
    setting({ enum: ['a'], default: 'b' }),
    /^config\[0\]\.default: must be one of "a"$/,
  ],
  'a default above its bounds': [
    setting({ type: 'int', max: 3, default: 5 }),
    /^config\[0\]\.default: must be at most 3$/,
  ],
  'a default that lasts no time': [
    setting({ type: 'duration', default: '30' }),
    /^config\[0\]\.default: must be a duration/,
  ],
  'bounds of a text': [setting({ min: 1 }), /^config\[0\]\.min: there is no such member$/],
  'choices of a number': [setting({ type: 'int', enum: ['1'] }), /^config\[0\]\.enum: there is no such member$/],
  'bounds the wrong way round': [setting({ type: 'int', min: 3, max: 1 }), /^config\[0\]\.min: must not be above max$/],
  'a choice twice': [setting({ enum: ['a', 'a'] }), /^config\[0\]\.enum\[1\]: the value "a" stands twice$/],
  'keys that are one variable': [
    (m) =>
      (m.config = [
        { key: 'a.b', type: 'bool' },
        { key: 'a_b', type: 'bool' },
      ]),
    /^config\[1\]: the key, as the name of an environment variable, "A_B" stands twice$/,
  ],
};
for (const [what, [change, problem]] of Object.entries(WRONG))
  test(`${what} is refused, saying where`, () => {
    const problems = problemsWith(change);
    assert.is(problems.length, 1, problems.join('; '));
    assert.match(problems[0] ?? '', problem);
  });

test('names that a route, a role or a tool of ours has are reserved', () => {
  for (const name of ['svc', 'public', 'pg-notes', 'svc-notes'])
    assert.equal(
      problemsWith((m) => (m.cassette.name = name)),
      ['cassette.name: is reserved'],
      name,
    );
});

test('all that is wrong is told at once, rules over several members included', () => {
  const problems = problemsWith((m) => {
    m.kind = 'x';
    m.cassette.version = '';
    m.unknown = 1;
    m.depends.views = ['raw_turns', 'raw_turns', 5];
    m.api = { health: '/openapi', openapi: '/openapi', more: true };
    m.config[0].descripton = 'a typo';
    m.config[0].default = 'huge';
    m.config[2].default = 0;
  });
  for (const expected of [
    'kind: must be "svc.cassette/v1"',
    'cassette.version: must not be blank',
    'unknown: there is no such member',
    'depends.views[2]: must be a text',
    'depends.views[1]: the view "raw_turns" stands twice',
    'api.openapi: must be another path than health',
    'api.more: there is no such member',
    'config[0].descripton: there is no such member',
    'config[0].default: must be one of "small", "large"',
    'config[2].default: must be at least 1',
  ])
    assert.ok(problems.includes(expected), `${expected}\n${problems.join('\n')}`);
});

test('what is no manifest at all is refused in a sentence', () => {
  for (const value of [undefined, null, 5, 'text', [goodManifest()]])
    assert.throws(() => parseManifest(value), /^Cannot read the manifest: (there is none|it is no object)$/);
  assert.throws(() => parseManifest({}), /^Cannot read the manifest: kind: .* \(and 1 more\)$/);
});

test('the digest does not move with order or with defaults that are written out, and moves with anything else', () => {
  const digest = manifestDigest(parseManifest(goodManifest()));
  assert.match(digest, /^sha256:[0-9a-f]{64}$/);
  const same = goodManifest();
  same.depends.views.reverse();
  same.tables.reverse();
  same.config.reverse();
  same.config.at(-1).enum.reverse();
  same.api = { health: '/ping' };
  same.bindings.core = false;
  for (const one of same.config) one.required ??= false;
  assert.is(manifestDigest(parseManifest(Object.fromEntries(Object.entries(same).reverse()))), digest);
  for (const change of [
    (m: Json) => (m.cassette.version = '1.0.1'),
    (m: Json) => (m.bindings.core = true),
    (m: Json) => m.depends.views.pop(),
    (m: Json) => (m.config[2].default = 6),
  ]) {
    const other = goodManifest();
    change(other);
    assert.is.not(manifestDigest(parseManifest(other)), digest, String(change));
  }
});

test('the published JSON Schemas are what is checked (test/support/publish-schemas.ts writes them)', async () => {
  for (const [file, schema] of Object.entries(publishedSchemas())) {
    const published = JSON.parse(await readFile(join(packageRoot(), 'core/cassette', file), 'utf8'));
    assert.equal(published, JSON.parse(JSON.stringify(schema)), file);
  }
});

test('an editor that goes by the published schemas takes what is taken, and refuses what is misspelt', () => {
  const { 'manifest.schema.json': manifest = {}, 'list.schema.json': list = {} } = publishedSchemas();
  const ajv = new Ajv2020({ strict: true, strictTypes: false });
  const [isManifest, isList] = [ajv.compile(manifest), ajv.compile(list)];
  assert.ok(isManifest(goodManifest()), JSON.stringify(isManifest.errors));
  assert.ok(Manifest.safeParse(goodManifest()).success);
  assert.not.ok(isManifest({ ...goodManifest(), dependz: {} }));
  const entries = { $schema: './list.schema.json', cassettes: [{ name: 'notes', source: './notes' }] };
  assert.ok(isList(entries), JSON.stringify(isList.errors));
  assert.ok(ListFile.safeParse(entries).success);
  assert.not.ok(isList({ cassettes: [{ name: 'notes', sorce: './notes' }] }));
});

test.run();
