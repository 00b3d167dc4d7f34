/** What the documents of the read API and of ingest have their readers type works as it stands, in a fresh clone and without a network. */
import { suite } from 'uvu';
import { guidesBy } from '../support/guides.ts';
import { linesWork } from '../support/section-lines.ts';
import { noShell } from '../support/shell-lines.ts';

const test = suite('the lines about reading and ingest');

const why = noShell();
if (why !== null) console.log(`skip: the lines about reading and ingest: ${why}`);
else
  for (const guide of guidesBy('readme-lines.long'))
    test(`every shell line of ${guide.file} works as it stands, in a fresh clone`, () => linesWork(guide));

test.run();
