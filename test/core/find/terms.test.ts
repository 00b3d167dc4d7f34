/** Does a text have the terms of each of its words and parts of words, in any script, and of hardly anything else? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { INDEXED_CHARACTERS, partOfWord, piecesOf, termsOf, wholeWord, wordsOf } from '../../../core/find/terms.ts';

const test = suite('termsOf');

const has = (text: string, sought: string, parts = false): boolean => {
  const terms = new Set(termsOf(text));
  return wordsOf(sought).every((word) => (parts ? partOfWord(word) : wholeWord(word)).every((term) => terms.has(term)));
};

test('words in any case, and the parts of identifiers', () => {
  const text = 'HTTPServer2.readFileSync(max_bytes, "src/Atlas-UI")';
  for (const sought of ['httpserver2', 'HTTP', 'Server', '2', 'read', 'FILE', 'sync', 'max', 'bytes', 'src atlas ui'])
    assert.ok(has(text, sought), sought);
  for (const sought of ['readfile', 'servers', 'filesync', 'byte']) assert.not.ok(has(text, sought), sought);
});

test('parts of words', () => {
  const text = 'readFileSync ΠΡΩΊ façade';
  for (const sought of ['adfi', 'sync', 'ρωί', 'πρω', 'ÇAD']) assert.ok(has(text, sought, true), sought);
  for (const sought of ['cnys', 'ρίω', 'fad']) assert.not.ok(has(text, sought, true), sought);
});

test('characters and pairs of scripts without blanks', () => {
  for (const sought of ['晚上', '败', '上失', 'abc', 'テスト', '실패'])
    assert.ok(has('测试在晚上失败abc、テスト 실패하는', sought), sought);
  for (const sought of ['上晚', '失上', '敗']) assert.not.ok(has('测试在晚上失败', sought), sought);
});

test('a megabyte of base64 has few terms, and a long text the ones of its pieces', () => {
  assert.ok(termsOf('QUJDREVGR0hJSktMTU5PUA'.repeat(50_000)).length < 200);
  const long = Array.from({ length: 20_000 }, (_, i) => `w${i}`).join(' ');
  const pieces = piecesOf(long);
  assert.ok(pieces.length > 3 && pieces.length < 6);
  assert.ok(pieces.every((piece) => long.includes(piece)));
  assert.ok(pieces.at(-1)?.endsWith(long.slice(INDEXED_CHARACTERS - 20, INDEXED_CHARACTERS)));
  for (const [i, piece] of pieces.slice(1).entries()) assert.ok(pieces[i]?.endsWith(piece.slice(0, 256)));
  assert.equal(piecesOf('short'), ['short']);
  assert.equal(piecesOf(''), []);
});

test('terms fit into a smallint', () => {
  const terms = termsOf(Array.from({ length: 5_000 }, (_, i) => `word${i * 7}`).join(' '));
  assert.ok(terms.every((term) => Number.isInteger(term) && term >= -32_768 && term <= 32_767));
  assert.equal(
    terms,
    [...new Set(terms)].sort((a, b) => a - b),
  );
});

test.run();
