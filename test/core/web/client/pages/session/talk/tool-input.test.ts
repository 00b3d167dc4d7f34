import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { numberedLines, resultKind } from '../../../../../../../core/web/client/pages/session/talk/result-kind.ts';
import { inputParts } from '../../../../../../../core/web/client/pages/session/talk/tool-input.ts';

const test = suite('toolInput');

test('an edit is before and after, and what stands beside it stays', () => {
  const parts = inputParts({ file_path: 'a.ts', old_string: 'one', new_string: 'two', replace_all: true });
  assert.equal(parts, [
    { kind: 'text', key: 'file_path', text: 'a.ts' },
    { kind: 'edit', path: 'a.ts', before: 'one', after: 'two' },
    { kind: 'json', key: 'replace_all', value: true },
  ]);
});

test('several edits in one call are each shown; a list that is no edits is JSON', () => {
  const edits = [
    { old_string: 'a', new_string: 'b' },
    { old_string: 'c', new_string: 'd', replace_all: false },
  ];
  assert.equal(
    inputParts({ file_path: 'x', edits }).map(({ kind }) => kind),
    ['text', 'edit', 'edit', 'json'],
  );
  assert.equal(inputParts({ edits: [1, 2] }), [{ kind: 'json', key: 'edits', value: [1, 2] }]);
});

test('commands, new files and patches are code', () => {
  assert.equal(inputParts({ command: 'ls' }), [{ kind: 'code', key: 'command', text: 'ls', language: 'bash' }]);
  assert.equal(inputParts({ command: ['bash', '-lc', 'ls'] })[0], {
    kind: 'code',
    key: 'command',
    text: 'bash -lc ls',
    language: 'bash',
  });
  assert.equal(inputParts({ file_path: 'a.py', content: 'x = 1\n' })[1], {
    kind: 'code',
    key: 'content',
    text: 'x = 1\n',
    language: 'py',
  });
  assert.is(inputParts('*** Begin Patch\n*** End Patch')[0]?.kind, 'diff');
});

test('anything else that was recorded is shown as it is', () => {
  assert.equal(inputParts([1]), [{ kind: 'json', key: '', value: [1] }]);
  assert.equal(inputParts(null), []);
  assert.equal(
    inputParts({ __proto__: null, old_string: 1, new_string: 2 }).map(({ kind }) => kind),
    ['json', 'json'],
  );
});

test('results are known by how they look', () => {
  assert.is(resultKind('     1\timport x\n     2\t\n     3\tlet y\n'), 'numbered');
  assert.is(resultKind('{"a": 1}'), 'json');
  assert.is(resultKind('[note] this is no JSON'), 'plain');
  assert.is(resultKind('\u001b[31mred\u001b[0m'), 'ansi');
  assert.is(resultKind('--- a\n+++ b\n@@ -1 +1 @@\n'), 'diff');
  assert.is(resultKind('12 passed'), 'plain');
});

test('an empty line may have its number alone', () => {
  assert.equal(numberedLines('     1\ta\n     2\n     3\tb').numbers, ['1', '2', '3']);
});

test('numbers of lines are cut off, and lines without one stay whole', () => {
  assert.equal(numberedLines('     1\ta\n     2→\tb\nend'), { numbers: ['1', '2', ''], lines: ['a', '\tb', 'end'] });
});

test.run();
