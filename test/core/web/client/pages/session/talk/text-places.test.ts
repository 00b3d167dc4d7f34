import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nthPlace, textPlaces } from '../../../../../../../core/web/client/pages/session/talk/text-places.ts';

const test = suite('textPlaces');
const cut = (shown: string, text: string) => textPlaces(shown, text).map(({ start, end }) => shown.slice(start, end));

test('a text is found where it is as it was recorded, each time', () => {
  assert.equal(textPlaces('a.b a.b', 'a.b'), [
    { start: 0, end: 3 },
    { start: 4, end: 7 },
  ]);
  assert.equal(textPlaces('acb', 'a.b'), []);
});

test('lines that are broken elsewhere, and indents that are gone, hide nothing', () => {
  assert.equal(cut('if (x) {\n  return  y;\n}', '{ return y;'), ['{\n  return  y;']);
  assert.equal(cut('“one two” three', 'one\n  two'), ['one two']);
  assert.equal(cut('银行 opens', '行opens'), ['行 opens']);
});

test('where it is as it was recorded, no other place counts', () => {
  assert.equal(cut('ab a b', 'a b'), ['a b']);
});

test('blanks alone are found only as they are', () => {
  assert.equal(textPlaces('a  b', '\t'), []);
  assert.equal(textPlaces('a  b', '  '), [{ start: 1, end: 3 }]);
});

const nth = suite('nthPlace');

nth('is the one that stands among the same words, though others are shown before it', () => {
  const shown = 'label x; first x here; then x there';
  const places = textPlaces(shown, 'x');
  assert.is(nthPlace(shown, places, { before: 'first ', after: ' here', n: 0 }), 1);
  assert.is(nthPlace(shown, places, { before: 'then ', after: ' there', n: 1 }), 2);
});

nth('is the n-th where nothing else tells them apart', () => {
  const shown = 'x x x';
  assert.is(nthPlace(shown, textPlaces(shown, 'x'), { before: '', after: '', n: 2 }), 2);
  assert.is(nthPlace(shown, [], { before: '', after: '', n: 0 }), -1);
});

test.run();
nth.run();
