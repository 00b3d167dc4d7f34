/** What the guides for authors and operators have them type works as it stands, in a fresh clone; packages are all that is fetched. */
import { suite } from 'uvu';
import { guidesBy } from '../support/guides.ts';
import { linesWork } from '../support/section-lines.ts';
import { noShell } from '../support/shell-lines.ts';

const test = suite('the guides');

const why = noShell();
if (why !== null) console.log(`skip: the lines of the guides: ${why}`);
else
  for (const guide of guidesBy('guide-lines.long'))
    test(`every shell line of ${guide.file} works as it stands, in a fresh clone`, () => linesWork(guide));

test.run();
