/** The score of texts: a word that occurs often hides none of the others. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { textQuery } from '../../../core/find/query.ts';
import { scoreOf } from '../../../core/find/score.ts';
import type { PlacedText } from '../../../core/find/span-texts.ts';

const test = suite('score');

const placed = (text: string): PlacedText => ({ place: 'prompt', side: 'prompt', block: 0, offset: 0, text });

for (const [often, filler] of [
  ['a', 'banana salad has many a vitamin. '],
  ['the', 'the cat and the dog. '],
] as const)
  test(`'${often}' a thousand times before the other word`, () => {
    const text = `${filler.repeat(1_000)}${often} connection ran into its timeout`;
    const scored = scoreOf(textQuery(`timeout ${often}`), [placed(text)]);
    assert.ok(scored);
    assert.equal([...scored.words].sort(), [often, 'timeout'].sort());
    assert.ok(scored.score >= 2, `${scored.score}`);
    assert.ok(scored.matches.some(({ match }) => match === 'timeout'));
  });

test('a short word within others is none', () => {
  const scored = scoreOf(textQuery('a timeout'), [placed('banana salad, and then the timeout')]);
  assert.equal(scored?.words, ['timeout']);
  assert.is(scoreOf(textQuery('a is'), [placed('banana listing')]), null);
});

test('of several texts each is looked at', () => {
  const scored = scoreOf(textQuery('timeout the'), [placed('the '.repeat(500)), placed('its timeout')]);
  assert.equal(scored?.words, ['the', 'timeout']);
});

test('of a text in many places, those that are counted have the same bound in one text and in several', () => {
  const [most, letters] = [200, 1_000_000]; // the density shows what was counted
  const filler = (of: string) => of.padEnd(letters / 2, '.');
  const several = [filler('timeout '.repeat(most)), filler('timeout '.repeat(50_000)), filler('')];
  const scored = scoreOf(textQuery('timeout'), several.map(placed));
  const alone = scoreOf(textQuery('timeout'), [placed('timeout '.repeat(most).padEnd((letters / 2) * 3, '.'))]);
  assert.is(scored?.score, alone?.score);
});

test.run();
