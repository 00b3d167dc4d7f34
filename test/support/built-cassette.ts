/** A cassette that comes with the service, built, in a folder of its own: in an isolated process nothing compiles TypeScript. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { packageRoot } from '../../core/package-root.ts';

/** The folder from which packages are resolved, as from `dist`. Removed by `remove`. */
export async function builtCassette(name: string) {
  const root = await mkdtemp(join(packageRoot(), 'node_modules/.svc-test-'));
  await writeFile(join(root, 'package.json'), '{"type":"module"}');
  const entry = `cassettes/${name}/cassette.ts`;
  const built = (path: string) => join(root, 'dist', path.replace(/\.ts$/, '.js'));
  const seen = new Set<string>();
  const build = async (path: string): Promise<void> => {
    if (seen.has(path)) return;
    seen.add(path);
    const source = await readFile(join(packageRoot(), path), 'utf8');
    await mkdir(dirname(built(path)), { recursive: true });
    await writeFile(built(path), ts.transpileModule(source, { compilerOptions: OPTIONS }).outputText);
    for (const [, imported = ''] of source.matchAll(/^(?:import|\} from)\b(?! type).*'(\.[^']+\.ts)';$/gm))
      await build(relative(packageRoot(), fileURLToPath(new URL(imported, `file://${join(packageRoot(), path)}`))));
  };
  for (const file of await readdir(dirname(join(packageRoot(), entry))))
    if (file.endsWith('.ts')) await build(join(dirname(entry), file));
  return {
    folder: dirname(built(entry)),
    entry: built(entry),
    beside: [join(root, 'dist/core'), join(root, 'package.json'), join(packageRoot(), 'node_modules')],
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

const OPTIONS = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};
