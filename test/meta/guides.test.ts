/** Is every shell line of every document run by a test? */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { GUIDES } from '../support/guides.ts';
import { blocksOf, listedBlocks } from '../support/section-lines.ts';

const test = suite('guides');
const root = packageRoot();
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root });
const documents = files
  .toString()
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(root, file)));

test('each section with shell lines is in one guide', () => {
  const listed = documents.flatMap((file) =>
    blocksOf(file).map(({ section }) => {
      const guides = GUIDES.filter((guide) => guide.file === file && (guide.of?.(section) ?? true));
      return [file, section, guides.length] as const;
    }),
  );
  assert.ok(listed.length > 5);
  assert.equal(
    listed.filter(([, , guides]) => guides !== 1),
    [],
  );
});

for (const guide of GUIDES) {
  test(`the guide lists the lines of ${guide.file}, in their order, and a test runs it: ${guide.by}`, () => {
    listedBlocks(guide);
    const runs = readFileSync(join(root, 'test/e2e', `${guide.by}.test.ts`), 'utf8');
    assert.match(runs, `guidesBy('${guide.by}')`);
  });
}

test.run();
