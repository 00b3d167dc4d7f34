/** Is the word that was meant under the terms that a mistake leaves, and is it the nearest? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nearestWord, termsBesideMistake } from '../../../core/find/misspelt.ts';
import { termsOf, type Word, wordsOf } from '../../../core/find/terms.ts';

const test = suite('misspelt words');

const wordOf = (text: string): Word => wordsOf(text)[0] ?? { text: '', cjk: false };

const isUnder = (misspelt: string, text: string): boolean => {
  const terms = new Set(termsOf(text));
  return termsBesideMistake(wordOf(misspelt)).some((group) => group.every((term) => terms.has(term)));
};

test('wherever the mistake is in a word of eight letters or more, one group of terms is left whole', () => {
  for (const word of ['printing', 'timetable', 'authenticate', 'certificatelessness'])
    for (let at = 1; at < word.length; at += 1) {
      const [before, after] = [word.slice(0, at), word.slice(at)];
      const mistakes = [`${before}${after.slice(1)}`, `${before}x${after}`, `${before}x${after.slice(1)}`];
      if (after.length > 1) mistakes.push(`${before}${after[1]}${after[0]}${after.slice(2)}`);
      for (const misspelt of mistakes.filter((one) => one.length > 7)) {
        assert.ok(isUnder(misspelt, word), misspelt);
        assert.is(nearestWord(misspelt, [`a ${word} more`]), word, misspelt);
      }
    }
});

test('at least two terms are left, or the index would name too many texts', () => {
  for (const word of ['length', 'lengths', 'printing', 'timetable', 'drainpendingqueue']) {
    const groups = termsBesideMistake(wordOf(word));
    assert.ok(groups.length > 0 && groups.length < 4, word);
    assert.ok(
      groups.every((group) => group.length >= 2),
      word,
    );
  }
});

test('short words, numbers, ids and scripts without blanks are not amended', () => {
  for (const text of ['short', 'run8841', '4be21c7f90', '超过三十天的日志', 'a'.repeat(40)])
    assert.equal(termsBesideMistake(wordOf(text)), [], text);
});

test('the nearest word is the one with the fewest mistakes, and of equal ones that of the most texts', () => {
  assert.is(nearestWord('recieved', ['retrieved', 'we received it']), 'received');
  assert.is(nearestWord('settinq', ['settine', 'setting', 'a setting']), 'setting');
  assert.is(nearestWord('mailing', ['failing']), null, 'the first letter is seldom mistyped');
  assert.is(nearestWord('string', ['strange']), null, 'two mistakes in a short word');
  assert.is(nearestWord('φωτογραφιες', ['Φωτογραφίες']), 'φωτογραφίες', 'accents do not count');
});

test.run();
