/** What the README has a stranger type works as it stands: install, start, look, in a fresh clone and without a network afterwards. */
import { suite } from 'uvu';
import { guidesBy } from '../support/guides.ts';
import { linesWork } from '../support/section-lines.ts';
import { noShell } from '../support/shell-lines.ts';

const test = suite("the README's lines");

const why = noShell();
if (why !== null) console.log(`skip: the README's lines: ${why}`);
else
  for (const guide of guidesBy('readme-start'))
    test(`every shell line of ${guide.file} works as it stands, in a fresh clone`, () => linesWork(guide));

test.run();
