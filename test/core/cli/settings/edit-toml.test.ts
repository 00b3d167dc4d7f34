import * as fc from 'fast-check';
import { parse } from 'smol-toml';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tomlLiteral, withoutSetting, withSetting } from '../../../../core/cli/settings/edit-toml.ts';

const test = suite('edit-toml');

const FILE = `# Ours
version = 0   # of the form

# who gets in
[proxy]
listen = ":8080" # the usual one
  provider   =   'ollama'

[api] # the reader
# token = ""
# listen = ":8081"

# last words
`;

test('a value is replaced where it stands; comments, order and spaces stay', () => {
  assert.is(withSetting(FILE, 'proxy.listen', ':9'), FILE.replace('":8080"', '":9"'));
  assert.is(withSetting(FILE, 'proxy.provider', 'openai'), FILE.replace("'ollama'", '"openai"'));
});

test('a new setting stands below its commented-out line, else beside its neighbours, else in a table of its own', () => {
  const commented = FILE.replace('# listen = ":8081"\n', '# listen = ":8081"\nlisten = ":1"\n');
  assert.is(withSetting(FILE, 'api.listen', ':1'), commented);
  const beside = FILE.replace("'ollama'\n", '\'ollama\'\n  project = "a"\n');
  assert.is(withSetting(FILE, 'proxy.project', 'a'), beside);
  assert.is(withSetting(FILE, 'log.level', 'warn'), `${FILE}\n[log]\nlevel = "warn"\n`);
  const root = FILE.replace('# of the form\n', '# of the form\nallowed_hosts = ["a", "b"]\n');
  assert.is(withSetting(FILE, 'allowed_hosts', ['a', 'b']), root);
});

test('without settings of the root, one goes above the first table and the comments that belong to it', () => {
  const before = '# Ours\n\n# who\n[proxy]\nlisten = ":1"\n';
  assert.is(
    withSetting(before, 'allowed_hosts', []),
    '# Ours\n\nallowed_hosts = []\n\n# who\n[proxy]\nlisten = ":1"\n',
  );
});

test('dotted keys, inline tables, nested tables, quoted keys and lists over several lines', () => {
  const cases: [string, string, string | string[], string][] = [
    ['proxy.listen = ":1"\n', 'proxy.project', 'a', 'proxy.listen = ":1"\nproxy.project = "a"\n'],
    ['proxy = { listen = ":1" }', 'proxy.listen', ':2', 'proxy = { listen = ":2" }'],
    ['proxy = { listen = ":1" }', 'proxy.project', 'a', 'proxy = { listen = ":1", project = "a" }'],
    ['proxy = {}', 'proxy.upstreams.openai', 'http://a', 'proxy = { upstreams.openai = "http://a" }'],
    [
      '[proxy]\nupstreams.openai = "http://b"',
      'proxy.upstreams.openai',
      'http://a',
      '[proxy]\nupstreams.openai = "http://a"',
    ],
    [
      '[proxy]\nupstreams.openai = "http://b"',
      'proxy.upstreams.gemini',
      'http://a',
      '[proxy]\nupstreams.openai = "http://b"\nupstreams.gemini = "http://a"\n',
    ],
    ['["proxy"]\n"listen" = ":1"', 'proxy.listen', ':2', '["proxy"]\n"listen" = ":2"'],
    ['allowed_hosts = [\n  "a", \'b\',\n]\n[api]', 'allowed_hosts', ['c'], 'allowed_hosts = ["c"]\n[api]'],
    ['[proxy]\nproject = """\na = [1\n#"""\n', 'proxy.project', 'b', '[proxy]\nproject = "b"\n'],
    ['', 'proxy.listen', ':2', '[proxy]\nlisten = ":2"\n'],
    ['\uFEFFversion = 0\r\n', 'proxy.listen', ':2', '\uFEFFversion = 0\r\n\r\n[proxy]\r\nlisten = ":2"\r\n'],
  ];
  for (const [text, path, value, expected] of cases) assert.is(withSetting(text, path, value), expected, text);
});

test('a list with comments in it is not replaced: they would be lost', () => {
  assert.is(withSetting('allowed_hosts = [ # ours\n"a"]\n', 'allowed_hosts', ['b']), null);
});

test('a setting is removed with its line, also from an inline table', () => {
  assert.is(withoutSetting(FILE, 'proxy.listen'), FILE.replace('listen = ":8080" # the usual one\n', ''));
  assert.is(withoutSetting('a = { b = 1, c = 2 }', 'a.b'), 'a = { c = 2 }');
  assert.is(withoutSetting('a = { b = 1, c = 2 }', 'a.c'), 'a = { b = 1 }');
  assert.is(withoutSetting(FILE, 'log.level'), FILE);
  assert.is(withoutSetting('allowed_hosts = [\n"a", # mine\n]\n# end\n', 'allowed_hosts'), '# end\n');
});

test('what tables or several keys set is not removed by this, and is not said to be absent', () => {
  for (const text of [
    '[budget.projects.atlas]\ndaily_usd = 3\n',
    '[budget]\nprojects.atlas.daily_usd = 3\n',
    '[budget.projects]\natlas = { daily_usd = 3 }\n',
    '[[budget.projects]]\nname = "atlas"\n',
  ])
    assert.is(withoutSetting(text, 'budget.projects'), null, text);
  for (const text of ['[budget.projects]\n', '[budget.projects.atlas]\n# daily_usd = 3\n', '[budget]\ndaily_usd = 3\n'])
    assert.is(withoutSetting(text, 'budget.projects'), text);
});

/** Documents of settings in all the forms that TOML has for them, with comments between. */
const documents = fc
  .array(
    fc.tuple(
      fc.constantFrom('a', 'a.b', 'b', 'c'),
      fc.constantFrom('table', 'dotted', 'inline'),
      fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { minLength: 0, maxLength: 3 }),
      fc.constantFrom(
        '1',
        '"s#[{"',
        "'s='",
        '[1, [2]]',
        '[\n "a",\n "]",\n]',
        '"""\n[x]\n"""',
        'true',
        '{ v = 1, w = "," }',
      ),
      fc.constantFrom('', ' # why', '\n# on a line', '\n\n'),
    ),
  )
  .map((parts) => {
    const dotted = parts
      .filter(([, form]) => form !== 'table')
      .map(([table, form, names, value, comment]) => {
        const flat = value.replaceAll('\n', ' ');
        return form === 'inline'
          ? `${table} = { ${names.map((name) => `${name} = ${flat}`).join(', ')} }${comment}`
          : names.map((name) => `${table}.${name} = ${value}${comment}`).join('\n');
      });
    const tables = parts
      .filter(([, form]) => form === 'table')
      .map(
        ([table, , names, value, comment]) =>
          `[${table}]${comment}\n${names.map((name) => `  ${name} = ${value}${comment}`).join('\n')}`,
      );
    return [...dotted, ...tables].join('\n');
  })
  .filter((text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  });

const wordsOf = (text: string) => text.split('\n').filter((line) => line.includes('# '));

test('whatever the form of the document: the setting is there, all else is as it was, and no comment is lost', () => {
  let refused = 0;
  void fc.assert(
    fc.property(documents, fc.constantFrom('a.x', 'a.b.y', 'b.z', 'c.x', 'top'), (text, path) => {
      const after = withSetting(text, path, 'new');
      if (after === null) {
        refused++; // such as a value where the path has a table
        return;
      }
      const value = path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], parse(after));
      assert.is(value, 'new');
      for (const line of wordsOf(text)) if (line.startsWith('#')) assert.ok(after.includes(line));
      const undone = withoutSetting(after, path);
      if (undone !== null) assert.not.ok(JSON.stringify(parse(undone)).includes('"new"'));
    }),
    { numRuns: 500 },
  );
  assert.ok(refused < 50, `${refused} of 500`);
});

test('strings are written so that they read the same', () => {
  void fc.assert(fc.property(fc.string(), (value) => assert.is(parse(`v = ${tomlLiteral(value)}`).v, value)));
});

test.run();
