/** What the README has its readers type after they have begun works as it stands, in a fresh clone and without a network. */
import { suite } from 'uvu';
import { linesWork } from '../support/section-lines.ts';
import { noShell } from '../support/shell-lines.ts';

const test = suite("the README's other sections");

const ELSEWHERE = ['Start', 'Point a client at it', 'Read it back', 'Extend it: cassettes'];

const why = noShell();
if (why !== null) console.log(`skip: the README's other sections: ${why}`);
else
  test('every shell line works as it stands, in a fresh clone', () =>
    linesWork({
      file: 'README.md',
      of: (section) => !ELSEWHERE.includes(section),
      lines: [
        [/export\/sessions'/, /^\{".*\}$/m],
        [/export\/sessions\/[-0-9a-f]+\?detail=traces/, /^\{".*\}$/m],
        [/search\/spans/, /"count":[1-9]/],
        [/search\/status/, /\{/],
        [/cassettes\/skills/, /\[/],
        [/v1\/ingest -H/, /"status":"accepted"|"root_hash"|202|\{"/],
        [/^file=/, /^$/],
        [/^jq /, /\{"/],
        [/^svc verify/, /all as written/],
      ],
    }));

test.run();
