/** Does every test file run its tests? uvu passes a file that forgets `.run()` with nothing run. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const folder = fileURLToPath(new URL('../', import.meta.url));
const test = suite('test files');

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.test.ts') && !path.includes('node_modules'),
);

test('there are some', () => assert.ok(files.length > 0));

for (const file of files) {
  test(`${file} runs every suite that it makes`, () => {
    const code = readFileSync(join(folder, file), 'utf8');
    const names = [...code.matchAll(/^const (\w+) = suite(?:<.*>)?\(/gm)].map(([, name = '']) => name);
    for (const name of names) assert.match(code, new RegExp(`^ *(else )?${name}\\.run\\(\\);`, 'm'), `${name}.run()`);
    assert.ok(/^ *(else )?\w+\.run\(\);/m.test(code) || /^ *(await )?databaseSuite\(/m.test(code), 'nothing runs');
  });
}

test.run();
