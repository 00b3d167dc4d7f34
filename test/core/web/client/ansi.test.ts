/** Are the colours of a terminal read, and everything else that it would obey left in the text? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ansiRuns } from '../../../../core/web/client/worker/ansi.ts';

const test = suite('ansiRuns');
const ESC = '\x1b';

test('colours and styles begin, change and end', () => {
  assert.equal(ansiRuns(`a${ESC}[1;31mb${ESC}[22mc${ESC}[0md`), [
    { text: 'a', looks: [] },
    { text: 'b', looks: ['bold', 'ansi-1'] },
    { text: 'c', looks: ['ansi-1'] },
    { text: 'd', looks: [] },
  ]);
});

test('256 and 16 million colours become the nearest of sixteen', () => {
  const look = (codes: string) => ansiRuns(`${ESC}[${codes}mx`)[0]?.looks;
  assert.equal(look('38;5;196'), ['ansi-9']);
  assert.equal(look('38;2;0;128;0'), ['ansi-2']);
  assert.equal(look('38;5;10'), ['ansi-10']);
  assert.equal(look('48;5;196'), [], 'grounds are left out');
  assert.equal(look('38;5;196;4'), ['underline', 'ansi-9']);
});

test('no other sequence is taken out', () => {
  for (const text of [
    `${ESC}]0;title\x07`,
    `${ESC}[2J`,
    `${ESC}[1A`,
    `${ESC}]8;;https://evil.example${ESC}\\`,
    `${ESC}[`,
  ])
    assert.equal(ansiRuns(text), [{ text, looks: [] }]);
});

test('the runs are the text without its colours', () => {
  const text = `${ESC}[32m✓${ESC}[39m ok\n${ESC}[m${ESC}[999mend`;
  assert.is(
    ansiRuns(text)
      .map((run) => run.text)
      .join(''),
    '✓ ok\nend',
  );
});

test.run();
