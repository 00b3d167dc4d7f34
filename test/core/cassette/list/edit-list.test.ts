import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { usersList, withEntry, withoutEntry, writeList } from '../../../../core/cassette/list/edit-list.ts';

const test = suite('editing the list');

const TEXT = `{
    "$schema": "./x.json",
    "cassettes": [
        {"name": "one",   "source": "./one"},
        {
            "name": "two", "source": "./two" }
    ]
}
`;

test('a list that is made has its schema and the entry', () => {
  assert.is(
    withEntry(null, { name: 'one', source: './one' }, './list.schema.json'),
    '{\n  "$schema": "./list.schema.json",\n  "cassettes": [\n    {\n      "name": "one",\n      "source": "./one"\n    }\n  ]\n}\n',
  );
});

test('an entry is added behind the last, indented as the rest is, and nothing else moves', () => {
  assert.is(
    withEntry(TEXT, { name: 'three', source: './3' }, ''),
    TEXT.replace(
      'two" }\n',
      'two" },\n        {\n            "name": "three",\n            "source": "./3"\n        }\n',
    ),
  );
  assert.equal(JSON.parse(withEntry('{"cassettes":[]}', { name: 'a', source: 'b' }, '')), {
    cassettes: [{ name: 'a', source: 'b' }],
  });
});

test('an entry of that name is replaced where it stands', () => {
  assert.is(
    withEntry(TEXT, { name: 'one', source: './1' }, ''),
    TEXT.replace(
      '{"name": "one",   "source": "./one"}',
      '{\n            "name": "one",\n            "source": "./1"\n        }',
    ),
  );
});

test('an entry is taken out, first, last or only', () => {
  assert.is(withoutEntry(TEXT, 'two'), TEXT.replace(/,\n {8}\{\n[^}]*\}/, ''));
  assert.equal(JSON.parse(withoutEntry(TEXT, 'one')), {
    $schema: './x.json',
    cassettes: [{ name: 'two', source: './two' }],
  });
  assert.is(withoutEntry(TEXT, 'three'), TEXT);
  assert.equal(JSON.parse(withoutEntry(withoutEntry(TEXT, 'one'), 'two')).cassettes, []);
});

test('the file is replaced whole, keeps its rights, and a symlink stays one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-list-'));
  const file = join(folder, 'list.json');
  await writeFile(file, 'before');
  await chmod(file, 0o600);
  await symlink('list.json', join(folder, 'link.json'));
  await writeList(join(folder, 'link.json'), 'after');
  assert.is(await readFile(file, 'utf8'), 'after');
  assert.is((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await readdir(folder)).sort(), ['link.json', 'list.json']);
  assert.equal(await usersList([join(folder, 'none/x.json'), file]), { file, text: 'after' });
  assert.equal(await usersList([join(folder, 'none/x.json'), join(folder, 'new.json')]), {
    file: join(folder, 'new.json'),
    text: null,
  });
  await rm(folder, { recursive: true });
});

test.run();
