import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chunksOf, embeddedText, isHeavy, snippetOf } from '../../../cassettes/search/span-text.ts';

const test = suite('search: what of a span is embedded');

test('white space is one space, and lines stay lines', () => {
  assert.is(embeddedText('a \t b \n\n \n c'), 'a b\nc');
  assert.is(embeddedText(' \n '), '');
});

test('a text that fits is one chunk, an empty one none', () => {
  assert.equal(chunksOf('short', 10), ['short']);
  assert.equal(chunksOf('', 10), []);
});

test('a long text is cut at a line, else a sentence, else a word, else anywhere', () => {
  assert.equal(chunksOf('one two\nthree four', 12), ['one two', 'three four']);
  assert.equal(chunksOf('One two. Three four', 14), ['One two.', 'Three four']);
  assert.equal(chunksOf('one two three four', 14), ['one two three', 'four']);
  assert.equal(chunksOf('abcdefghij', 4), ['abcd', 'efgh', 'ij']);
});

test('no chunk is longer than asked for, none splits a character, and no word is lost', () => {
  const text = Array.from(
    { length: 500 },
    (_, i) => `word${i}${i % 7 === 0 ? '.' : ''}${i % 31 === 0 ? '\n' : ''}`,
  ).join(' ');
  const chunks = chunksOf(text, 100);
  assert.ok(chunks.every((chunk) => chunk.length <= 100));
  assert.equal(chunks.join(' ').split(/\s+/), text.trim().split(/\s+/));
  assert.equal(chunksOf('😀'.repeat(10), 5), Array(5).fill('😀😀'));
});

test('text of other scripts is cut earlier, at a full stop of its own too, and Latin text where it was', () => {
  assert.equal(chunksOf('我们昨天讨论了。明天见', 16), ['我们昨天讨论了。', '明天见']);
  assert.equal(chunksOf('어제우리', 12), ['어제', '우리']);
  assert.equal(chunksOf('어', 1), ['어']);
  assert.equal(chunksOf('Größe – “naïve” → ja', 20), ['Größe – “naïve” → ja']);
  assert.not.ok(isHeavy('x 我', 4));
  assert.ok(isHeavy('x 我', 3));
  assert.not.ok(isHeavy('xyz x', 3));
});

test('a snippet is a line of at most 280 characters', () => {
  assert.is(snippetOf('a\nb'), 'a b');
  assert.is([...snippetOf('😀'.repeat(400))].length, 281);
});

test.run();
