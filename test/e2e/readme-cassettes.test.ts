/** What the README says of cassettes works as it stands: make one, check it, add it to the service that runs, and take it away. */
import { suite } from 'uvu';
import { linesWork } from '../support/section-lines.ts';
import { noShell } from '../support/shell-lines.ts';

const test = suite("the README's section on cassettes");

const why = noShell();
if (why !== null) console.log(`skip: the README's section on cassettes: ${why}`);
else
  test('every shell line works as it stands, in a fresh clone', () =>
    linesWork({
      file: 'README.md',
      of: (section) => section === 'Extend it: cassettes',
      lines: [
        [/^svc cassette new weather && cd weather/, /weather is in weather\//],
        [/^svc cassette check \./, /It can be let in/],
        [/^svc cassette add \./, /Added weather to /],
        [/^svc cassette list/, /weather +admitted/],
        [/^svc cassette remove weather/, /Removed weather from /],
      ],
    }));

test.run();
