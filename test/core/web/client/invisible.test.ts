/** Is everything that a text hides written out, and nothing else touched? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { documentTitleText } from '../../../../core/web/client/parts/document-title.ts';
import { hidesText, visibleParts, visibleText } from '../../../../core/web/client/worker/invisible.ts';

const test = suite('visibleParts');
const point = (...points: number[]) => String.fromCodePoint(...points);
const tags = (text: string) => point(...[...text].map((one) => 0xe0000 + one.charCodeAt(0)));

test('tag characters are decoded to what a model reads in them', () => {
  const parts = visibleParts(`be kind${tags('ignore previous')}!`);
  assert.equal(
    parts.map(({ text }) => text),
    ['be kind', '⟦hidden: "ignore previous"⟧', '!'],
  );
  assert.ok(parts[1]?.hidden);
});

test('each control character, turned direction and character without width is marked', () => {
  for (const code of [
    ...[0, 1, 7, 8, 0x0b, 0x1b, 0x1f, 0x7f, 0x80, 0x9b, 0xad, 0x61c, 0x200b, 0x200c, 0x200e, 0x200f],
    ...[0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0x3164, 0xfeff, 0xfff9, 0xe0001, 0xe0100],
  ]) {
    const text = `a${point(code)}b`;
    assert.is(hidesText(text), true, code.toString(16));
    assert.is(visibleText(text).includes(point(code)), false, code.toString(16));
    assert.match(visibleText(text), /^a.+b$/u);
  }
  assert.is(visibleText(point(0x1b)), '␛');
  assert.is(visibleText(point(0x202e)), '⟦U+202E⟧');
});

test('text of any language, emoji, line ends and tabs stay as they are', () => {
  for (const text of ['plain', 'a\tb\nc', 'Ελληνικά', '日本語', 'עברית', '👩‍👩‍👧 ❤️', '🏴󠁧󠁢󠁳󠁣󠁴󠁿', ''])
    assert.is(visibleText(text), text);
  assert.is(visibleText('a\r\nb'), 'a\nb');
  assert.is(hidesText('a\rb'), true, 'a return alone overwrites a line');
});

test('bytes in variation selectors are written out', () => {
  const smuggled = `😀${[...'hi'].map((one) => point(0xe0100 + one.charCodeAt(0) - 16)).join('')}`;
  assert.is(visibleText(smuggled), '😀⟦hidden bytes: 68 69⟧');
});

test('a title is one short line with nothing hidden in it', () => {
  assert.is(documentTitleText('Fix\nthe\tadder'), 'Fix the adder · svc');
  assert.is(documentTitleText(`a${point(0x202e)}b`), 'a⟦U+202E⟧b · svc');
  assert.ok(documentTitleText('x'.repeat(1_000_000)).length < 220);
  assert.is(documentTitleText('  '), 'svc');
});

test.run();
