import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { startWorker } from '../../core/start-worker.ts';

const test = suite('startWorker');

test('runs TypeScript from source, with its data and what is transferred', async () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const worker = startWorker('../test/support/echo-worker', { bytes }, [bytes.buffer]);
  const [echo] = await once(worker, 'message');
  assert.equal(echo, { bytes: new Uint8Array([1, 2, 3]) });
  assert.is(bytes.byteLength, 0, 'moved, not copied');
  await worker.terminate();
});

test('runs what was built, where there is no tsx', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
  const core = join(folder, 'dist/core');
  await mkdir(core, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  for (const name of ['core/built-entry', 'core/package-root', 'core/start-worker', 'test/support/echo-worker']) {
    const source = await readFile(join(packageRoot(), `${name}.ts`), 'utf8');
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        rewriteRelativeImportExtensions: true,
      },
    });
    await writeFile(join(core, `${name.split('/').at(-1)}.js`), outputText);
  }
  const main = `import { startWorker } from './start-worker.js';
    import { packageRoot } from './package-root.js';
    startWorker('echo-worker', 'hello').on('message', (echo) => console.log(echo, packageRoot()));`;
  await writeFile(join(core, 'main.js'), main);
  const { stdout, stderr } = spawnSync(process.execPath, [join(core, 'main.js')], { encoding: 'utf8' });
  assert.is(stdout.trim(), `hello ${folder}`, stderr);
  await rm(folder, { recursive: true });
});
test.run();
