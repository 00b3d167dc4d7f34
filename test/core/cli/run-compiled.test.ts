import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFolder, removeFolder } from '../../support/serve.ts';

const test = suite('runCompiled');
const module = new URL('../../../core/cli/run-compiled.ts', import.meta.url).href;
let folder: string;
let file: string;

test.before.each(async () => {
  folder = await emptyFolder();
  file = join(folder, 'program.cjs');
  await write('one');
});
test.after.each(() => removeFolder(folder));

const write = (word: string) =>
  writeFile(
    file,
    `const { basename } = require('node:path');
     void importLater('./late.mjs').then(({ late }) => console.log(${JSON.stringify(word)}, basename(__filename), late));\n`,
  ).then(() => writeFile(join(folder, 'late.mjs'), "export const late = 'late';\n"));

/** In a process of its own, where `console.log` shows what V8 said of the code that it was given. */
function run(keeps = true): { out: string; accepted: string } {
  const source = `
    import vm from 'node:vm';
    const { Script } = vm;
    vm.Script = class extends Script {
      constructor(...given) { super(...given); console.error(this.cachedDataRejected === false ? 'accepted' : 'compiled'); }
    };
    process.getBuiltinModule = ((get) => (name) => name === 'node:vm' ? vm : get(name))(process.getBuiltinModule);
    const { runCompiled } = await import(${JSON.stringify(module)});
    runCompiled(${JSON.stringify(file)}, ${keeps});`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', source],
    { encoding: 'utf8', cwd: new URL('../../..', import.meta.url).pathname },
  );
  assert.is(status, 0, stderr);
  return { out: stdout.trim(), accepted: stderr.trim() };
}

const caches = () => readdirSync(folder).filter((name) => name.endsWith('.cache'));

test('the second run has the code of the first, and imports as it did', async () => {
  assert.equal(run(), { out: 'one program.cjs late', accepted: 'compiled' });
  assert.is(caches().length, 1);
  assert.equal(run(), { out: 'one program.cjs late', accepted: 'accepted' });
});

test('another text of the same length runs as it is now', async () => {
  run();
  await write('two');
  await utimes(file, new Date(), new Date(Date.now() + 60_000));
  assert.equal(run(), { out: 'two program.cjs late', accepted: 'compiled' });
});

test('code that V8 cannot use is compiled anew, and kept for the next run', async () => {
  run();
  const [cache = ''] = caches();
  const kept = await readFile(join(folder, cache));
  await writeFile(join(folder, cache), kept.subarray(0, 40));
  assert.equal(run(), { out: 'one program.cjs late', accepted: 'compiled' });
  assert.is(run().accepted, 'accepted');
});

test('a run that is not to be kept leaves nothing', () => {
  run(false);
  assert.equal(caches(), []);
});

test('where the code cannot be kept it is compiled each time, and nothing else is left', async () => {
  run();
  const [cache = ''] = caches();
  await rm(join(folder, cache));
  await mkdir(join(folder, cache));
  for (let time = 0; time < 2; time++) assert.equal(run(), { out: 'one program.cjs late', accepted: 'compiled' });
  assert.equal(readdirSync(folder).sort(), ['late.mjs', 'program.cjs', cache].sort());
});

test.run();
