import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { gapText, parted, whereText } from '../../../../../../../core/web/client/pages/session/cache/break-words.ts';

const test = suite('breaks of the cache in words');

test('where the prompts part', () => {
  const where = { section: 'tools' as const, block: 14, path: 'tools[14].description', char: 212 };
  assert.is(whereText({ where }), 'tools[14].description, character 212');
  assert.is(whereText({ where: { ...where, char: null } }), 'tools[14].description');
  assert.is(whereText({ where: { ...where, path: '', char: null } }), 'block 15 of tools');
  assert.is(whereText({ where: null }), '');
});

test('a gap in its two largest units', () => {
  assert.equal([40, 22_000, 432_000, 3_600_000, 90_061_000].map(gapText), [
    '40 ms',
    '22 s',
    '7 m 12 s',
    '1 h',
    '1 d 1 h',
  ]);
});

test('what changed stands apart from what both begin and end with', () => {
  const { was, is } = parted('Today is Fri Nov 20 2026', 'Today is Sat Nov 21 2026');
  assert.equal(was, { start: 'Today is ', changed: 'Fri Nov 20', end: ' 2026' });
  assert.equal(is, { start: 'Today is ', changed: 'Sat Nov 21', end: ' 2026' });
  assert.equal(parted('aa', 'aaa').is, { start: 'aa', changed: 'a', end: '' });
});

test('no character is cut in half', () => {
  const { was, is } = parted('x😀y', 'x😃y');
  assert.equal([was.changed, is.changed], ['😀', '😃']);
  const ends = parted('🀀', '😀'); // they end with the same half
  assert.equal([ends.was.changed, ends.is.changed], ['🀀', '😀']);
});

test.run();
