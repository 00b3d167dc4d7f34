/** What the guide to cassettes has its readers type first works as it stands: use those that come with the service; make one, add it, remove it. */
import { suite } from 'uvu';
import { guidesBy } from '../support/guides.ts';
import { linesWork } from '../support/section-lines.ts';
import { noShell } from '../support/shell-lines.ts';

const test = suite('the first lines about cassettes');

const why = noShell();
if (why !== null) console.log(`skip: the first lines about cassettes: ${why}`);
else
  for (const guide of guidesBy('readme-cassettes'))
    test(`every shell line of ${guide.file} works as it stands, in a fresh clone`, () => linesWork(guide));

test.run();
