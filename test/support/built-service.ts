/** The service as it is installed, compiled and without tsx: built within seconds in a folder of its own. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bundleClient } from '../../core/build/bundle.mjs';
import { bundleEntries } from '../../core/build/bundle-entries.mjs';
import { templateFile } from './databases.ts';

const root = resolve(import.meta.dirname, '../..');
/** `svc` as it is built: that of the whole run (run.ts), else one that is built in `folder`. */
export const builtProgram = async (folder: string): Promise<string> =>
  process.env.SVC_TEST_PROGRAM ?? (await buildService(folder));

const ELSEWHERE = ['dist', '.git', '.svc'];

/**
 * A package in `folder`: `dist` is compiled from the current sources, everything else is a link. Types are checked elsewhere.
 * @returns its `svc`
 */
export async function buildService(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(root))
    if (!ELSEWHERE.includes(name)) await symlink(join(root, name), join(folder, name));
  const compilerOptions = {
    noEmit: false,
    noCheck: true,
    sourceMap: false,
    rootDir: root,
    outDir: join(folder, 'dist'),
  };
  const include = ['core', 'proxy', 'ingest', 'cassettes'].map((room) => join(root, room));
  const exclude = [join(root, 'core/cassette/scaffold'), join(root, 'core/web/client')];
  const project = join(folder, 'tsconfig.build.json');
  const types = { types: ['node'], typeRoots: [join(root, 'node_modules/@types')] };
  await writeFile(
    project,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { ...compilerOptions, ...types },
      include,
      exclude,
    }),
  );
  await promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project]);
  await bundleClient({ root, assets: join(folder, 'dist/core/web/assets') });
  await bundleEntries(join(folder, 'dist'));
  const template = await templateFile();
  await mkdir(join(folder, 'dist/core/db/template'));
  await copyFile(template, join(folder, 'dist/core/db/template', basename(template)));
  return join(folder, 'dist/core/cli/main.js');
}
