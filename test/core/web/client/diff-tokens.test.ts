/** Do the lines of a difference give both texts back? */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { diffLines, unifiedLines } from '../../../../core/web/client/worker/diff-tokens.ts';
import type { DiffLine } from '../../../../core/web/client/worker/tokens.ts';

const test = suite('diffLines');
const textOf = ({ parts }: DiffLine) => parts.map(({ text }) => text).join('');

test('one line changed: the words that did stand out', () => {
  assert.equal(diffLines('a\nlet carry = 0;\nb\n', 'a\nlet carry = 1;\nb\n'), [
    { op: 'same', parts: [{ text: 'a', changed: false }] },
    {
      op: 'removed',
      parts: [
        { text: 'let carry = ', changed: false },
        { text: '0', changed: true },
        { text: ';', changed: false },
      ],
    },
    {
      op: 'added',
      parts: [
        { text: 'let carry = ', changed: false },
        { text: '1', changed: true },
        { text: ';', changed: false },
      ],
    },
    { op: 'same', parts: [{ text: 'b', changed: false }] },
  ]);
});

test('what is the same and added is the new text, what is the same and removed the old', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'let x = 1;', '', '  }'), { maxLength: 7 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff =
        diffLines(before.map((line) => `${line}\n`).join(''), after.map((line) => `${line}\n`).join('')) ?? [];
      const side = (op: DiffLine['op']) => diff.filter((line) => line.op === 'same' || line.op === op).map(textOf);
      if (diff.some(({ op }) => op === 'gap')) return; // unchanged lines are left out
      assert.equal(side('removed'), before);
      assert.equal(side('added'), after);
    }),
    { verbose: 0 },
  );
});

test('far from every change lines are left out, and counted', () => {
  const before = Array.from({ length: 40 }, (_, i) => `line ${i}`);
  const diff = diffLines(before.join('\n'), before.with(20, 'changed').join('\n')) ?? [];
  assert.equal(diff.filter(({ op }) => op === 'gap').map(textOf), ['17 unchanged lines', '16 unchanged lines']);
  assert.is(diff.length, 2 + 3 + 2 + 3);
});

test('texts that differ everywhere are given up in time', () => {
  const lines = (seed: number) => Array.from({ length: 30_000 }, (_, i) => `${(i * seed) % 30_011}`).join('\n');
  const began = performance.now();
  assert.is(diffLines(lines(7), lines(11)), null);
  assert.ok(performance.now() - began < 4_000);
});

test('a unified diff keeps its lines', () => {
  assert.equal(
    unifiedLines('--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n').map((line) => [line.op, textOf(line)]),
    [
      ['same', '--- a/x'],
      ['same', '+++ b/x'],
      ['gap', '@@ -1 +1 @@'],
      ['removed', 'old'],
      ['added', 'new'],
      ['same', 'same'],
    ],
  );
});

test('a removed SQL comment is a removed line, and the head of the next file is one', () => {
  const heads = (path: string) => `--- a/${path}\n+++ b/${path}\n`;
  const hunk = '@@ -1,2 +1,2 @@\n--- a note\n+++ more\n same\n';
  const shown = (text: string) => unifiedLines(text).map((line) => `${line.op} ${textOf(line)}`);
  const file = (path: string) => [
    ...[`same --- a/${path}`, `same +++ b/${path}`, 'gap @@ -1,2 +1,2 @@'],
    ...['removed -- a note', 'added ++ more', 'same same'],
  ];
  assert.equal(shown(heads('x') + hunk + heads('y') + hunk), [...file('x'), ...file('y')]);
  const git = 'diff --git a/y b/y\n';
  assert.equal(shown(heads('x') + hunk + git + heads('y') + hunk), [...file('x'), `same ${git.trim()}`, ...file('y')]);
});

test.run();
