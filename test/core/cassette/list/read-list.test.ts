import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BadList, listFiles, readLists } from '../../../../core/cassette/list/read-list.ts';
import { packageRoot } from '../../../../core/package-root.ts';

const test = suite('readLists');

const OURS = JSON.stringify({
  cassettes: [
    { name: 'export', source: './cassettes/export', isolation: 'inline', grants: { views: ['spans'] } },
    { name: 'search', source: './cassettes/search', isolation: 'inline', config: { url: 'x' } },
  ],
});

const read = (text: string | null, ours = OURS) =>
  readLists({
    ours: { file: '/ours/l.json', text: ours },
    users: { file: text === null ? null : '/users/l.json', text },
  });

const refusal = (text: string) => {
  try {
    read(text);
  } catch (error) {
    if (error instanceof BadList) return error.message;
    throw error;
  }
  throw new Error(`Cannot happen: taken: ${text}`);
};

test('without a list of the user ours is in effect, and its sources begin where it stands', () => {
  const { list, file, folderOf } = read(null);
  assert.equal(
    list.map(({ name }) => name),
    ['export', 'search'],
  );
  assert.equal(list.map(folderOf), ['/ours', '/ours']);
  assert.is(file, null);
});

test("the user's entries join ours and replace those of their name, in the order of names", () => {
  const { list, folderOf, file } = read(
    '{"cassettes": [{"name": "zebra", "source": "./z"}, {"name": "search", "source": "./mine"}]}',
  );
  assert.equal(
    list.map((entry) => [entry.name, entry.source, entry.isolation, folderOf(entry)]),
    [
      ['export', './cassettes/export', 'inline', '/ours'],
      ['search', './mine', undefined, '/users'],
      ['zebra', './z', undefined, '/users'],
    ],
  );
  assert.is(file, '/users/l.json');
});

test('a built-in entry can be changed in part: what is not said stays ours, its source too', () => {
  const { list, folderOf } = read(
    '{"cassettes": [{"name": "export", "source": "built-in", "enabled": false, "config": {"a": 1}}]}',
  );
  const [entry] = list;
  assert.is(entry && folderOf(entry), '/ours');
  assert.equal(entry, {
    name: 'export',
    source: './cassettes/export',
    isolation: 'inline',
    required: false,
    enabled: false,
    config: { a: 1 },
    grants: { bindings: [], views: ['spans'], extensions: [] },
  });
});

test('what cannot be used is told with its file, line and column, and what would do', () => {
  const begin = "Cannot use the list of cassettes '/users/l.json', line ";
  const cases: [string, string][] = [
    [
      '{\n  "cassettes": [\n    {"name": "one" "source": "./x"}\n  ]\n}',
      '3, column 20: a "," or a "}" must stand here',
    ],
    ['{"cassettes": [],}', '1, column 18: a name in double quotes must stand here; take the "," before it away'],
    ['{"cassettes": [], "cassettes": []}', '1, column 19: "cassettes" stands in this object twice'],
    ['[]', '1, column 1: the whole must be of type object'],
    ['{}', '1, column 1: cassettes is missing'],
    ['{"cassetes": []}', '1, column 2: there is no member "cassetes"; did you mean "cassettes"?'],
    ['{"cassettes": [], "more": 1}', '1, column 19: there is no member "more"; there are $schema, cassettes'],
    [
      '{"cassettes": [\n  {"name": "one", "source": "x", "grants": {\n    "veiws": []}}]}',
      '3, column 5: there is no member "veiws" in cassettes[0].grants; did you mean "views"?',
    ],
    ['{"cassettes": [{"name": "one"}]}', '1, column 16: cassettes[0].source is missing'],
    [
      '{"cassettes": [{"name": "One", "source": "x"}]}',
      '1, column 17: cassettes[0].name must be 2 to 32 of a-z, 0-9 and -, beginning with a letter',
    ],
    ['{"cassettes": [{"name": "svc", "source": "x"}]}', '1, column 17: cassettes[0].name is reserved'],
    [
      '{"cassettes": [{"name": "one", "source": "x", "isolation": "vm"}]}',
      '1, column 47: cassettes[0].isolation must be one of "inline"|"process"|"remote"',
    ],
    [
      '{"cassettes": [{"name": "one", "source": "x"},\n{"name": "one", "source": "y"}]}',
      "2, column 2: 'one' stands in this list twice; take one away, or give it another name",
    ],
    [
      '{"cassettes": [{"name": "mine", "source": "built-in"}]}',
      "1, column 33: no cassette of that name is built in; there are 'export', 'search'",
    ],
  ];
  for (const [text, message] of cases) assert.is(refusal(text), begin + message, text);
});

test('where the user is in our own folder, the list there is ours and not the user’s', () => {
  const root = packageRoot();
  assert.equal(listFiles({ cwd: root, folder: `${root}/.svc` }).candidates, [`${root}/.svc/cassette.manifest.json`]);
  assert.equal(listFiles({ cwd: '/somewhere', folder: '/home/.svc' }).candidates, [
    '/somewhere/cassette.manifest.json',
    '/home/.svc/cassette.manifest.json',
  ]);
});

test.run();
