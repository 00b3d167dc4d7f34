/** `svc cassette new`: writes a small cassette that has one of everything, with its test, and imports nothing from us. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { CassetteName } from '../../cassette/list/list.ts';
import { OperatorError } from '../../errors.ts';
import { packageRoot } from '../../package-root.ts';
import type { Io } from '../io.ts';

/** The template's name, which is replaced wherever it occurs. */
const TEMPLATE_NAME = 'my-cassette';

/** The source of each file of the new folder, relative to `core/cassette`. `built` is what tsc makes of `src`: a test compares them. */
const FILES: Readonly<Record<string, string>> = {
  'package.json': 'scaffold/package.json',
  'tsconfig.json': 'scaffold/tsconfig.json',
  '.gitignore': 'scaffold/gitignore', // npm leaves out files called .gitignore
  'README.md': 'scaffold/README.md',
  'src/cassette.ts': 'scaffold/src/cassette.ts',
  'src/openapi.ts': 'scaffold/src/openapi.ts',
  'src/cassette.test.ts': 'scaffold/src/cassette.test.ts',
  'src/svc-cassette.ts': 'contract.ts',
  'dist/cassette.js': 'scaffold/built/cassette.js',
  'dist/openapi.js': 'scaffold/built/openapi.js',
  'dist/cassette.test.js': 'scaffold/built/cassette.test.js',
  'dist/svc-cassette.js': 'scaffold/built/svc-cassette.js',
};

/** @param folder default: a folder of that name @throws {OperatorError} 2: the name is invalid, or the folder is not empty */
export async function newCassette(
  name: string,
  folder: string | undefined,
  { out, cwd }: Pick<Io, 'out' | 'cwd'>,
): Promise<void> {
  const checked = CassetteName.safeParse(name);
  if (!checked.success)
    throw new OperatorError(`Cannot name a cassette '${name}': it ${checked.error.issues[0]?.message}`, 2);
  const target = resolve(cwd, folder ?? name);
  await refuseFull(target);
  for (const [path, from] of Object.entries(FILES)) {
    const text = await readFile(join(packageRoot(), 'core/cassette', from), 'utf8');
    await mkdir(dirname(join(target, path)), { recursive: true });
    await writeFile(join(target, path), from === 'contract.ts' ? text : named(text, name));
  }
  out(welcome(name, relative(cwd, target) || '.'));
}

/** Replaces the template's name: in capitals for variables of the environment, else as the name is spelt. */
const named = (text: string, name: string): string =>
  text.replaceAll(TEMPLATE_NAME, name).replaceAll('MY_CASSETTE', name.toUpperCase().replaceAll('-', '_'));

async function refuseFull(folder: string): Promise<void> {
  const existing = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new OperatorError(`Cannot write to '${folder}': ${error.code}`, 2);
  });
  if (existing.length > 0)
    throw new OperatorError(`Cannot write to '${folder}': it is not empty; name another folder`, 2);
}

const welcome = (name: string, folder: string): string => `${name} is in ${folder}/

  cd ${folder}
  svc cassette check .     what svc checks before it lets a cassette in; it passes as it is
  svc cassette add .       shows what it asks for, asks, and installs it
  npm install && npm test  to change it: src/cassette.ts is where it begins
`;
