/** Does the product leave V8's flags alone while it runs? They are on the command lines of its processes: core/service-flags.ts. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';

const test = suite("V8's flags");
const root = packageRoot();
const product = ['core', 'proxy', 'ingest', 'cassettes'];

test('no file of the product sets them', () => {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...product], {
    cwd: root,
  });
  const code = listed
    .toString()
    .split('\n')
    .filter((file) => /\.(?:ts|tsx|js|mjs|cjs)$/.test(file) && existsSync(join(root, file)));
  assert.ok(code.length > 300, `${code.length} files`);
  const setting = code.filter((file) => /setFlagsFromString/.test(readFileSync(join(root, file), 'utf8')));
  assert.equal(setting, []);
});

test.run();
