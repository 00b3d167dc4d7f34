/** What the guides beside the README have their readers type works as it stands, in a fresh clone; packages are all that is fetched. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { linesWork, type Sections } from '../support/section-lines.ts';
import { noShell, shellBlocks } from '../support/shell-lines.ts';

const test = suite('the guides');

const GUIDES: Sections[] = [
  {
    file: 'cassettes/README.md',
    lines: [
      [/^svc cassette new weather/, /weather is in weather\//],
      [/^cd weather/, /^$/],
      [/^svc cassette check \./, /It can be let in/],
      [/^npm install && npm pack/, /weather-0\.1\.0\.tgz/],
      [/^svc cassette add \.\/weather-0\.1\.0\.tgz/, /Added weather to /],
      [/^export SVC_INTERNAL_LISTEN/, /^$/],
      [/^npm start/, /is recording[\s\S]+\/v1\/sessions\n/],
      [/internal\/readiness\/evidence/, /"ready":true/],
    ],
  },
  {
    file: 'core/cassette/scaffold/README.md',
    before: ['svc cassette new my-cassette'],
    folder: 'my-cassette',
    lines: [
      [/^npm install/, /added \d+ packages/],
      [/^npm test/, /pass \d/],
      [/^svc cassette check \./, /It can be let in/],
      [/^svc cassette add \./, /Added my-cassette to /],
      [/my-cassette\/sessions/, /\{/],
      [/my-cassette\/longest/, /\{/],
    ],
  },
  {
    file: 'cassettes/export/README.md',
    lines: [
      [/export\/sessions'/, /^\{".*\}$/m],
      [/since=.*&detail=traces/, /^\{".*\}$/m],
      [/export\/sessions\/[-0-9a-f]+'/, /^\{".*\}$/m],
    ],
  },
];

const root = packageRoot();

test('each document that has shell lines is in a test', () => {
  const documents = execFileSync('git', ['ls-files', '*.md'], { cwd: root }).toString().trim().split('\n');
  const withLines = documents.filter((file) => shellBlocks(readFileSync(join(root, file), 'utf8')).length > 0);
  assert.equal(withLines.sort(), ['README.md', ...GUIDES.map(({ file }) => file)].sort());
});

const why = noShell();
if (why !== null) console.log(`skip: the lines of the guides: ${why}`);
else
  for (const guide of GUIDES)
    test(`every shell line of ${guide.file} works as it stands, in a fresh clone`, () => linesWork(guide));

test.run();
