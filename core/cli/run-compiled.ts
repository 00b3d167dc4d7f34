/**
 * Runs a CommonJS file with the code that V8 compiled of it in a run before: to compile it anew is a third of the time of a quick command.
 * Node's own cache (`module.enableCompileCache`) is not in Node 20, and holds half as much of the code.
 */

/**
 * @param file absolute; what was compiled is kept beside it, for this very file, Node and processor. Where that cannot be written it is
 * compiled each time.
 * @param keeps whether this run's code is worth keeping, should there be none
 */
export function runCompiled(file: string, keeps: boolean): void {
  const { readFileSync, statSync } = process.getBuiltinModule('node:fs');
  const { createRequire } = process.getBuiltinModule('node:module');
  const { dirname } = process.getBuiltinModule('node:path');
  const { pathToFileURL } = process.getBuiltinModule('node:url');
  const { Script } = process.getBuiltinModule('node:vm');
  const { mtimeMs, size } = statSync(file);
  const kept = `${file}.${Math.trunc(mtimeMs)}-${size}.${process.version}-${process.arch}.cache`;
  const cachedData = contentsOf(kept);
  const script = new Script(`(function (${PARAMETERS}) {${readFileSync(file, 'utf8')}\n})`, {
    filename: file,
    ...(cachedData && { cachedData }),
  });
  const isLacking = cachedData === null || script.cachedDataRejected; // V8 takes none that was made with other flags
  if (isLacking && keeps) process.once('exit', () => write(kept, script.createCachedData()));
  const module = { exports: {} };
  const run = script.runInThisContext() as ModuleFunction;
  const importLater = (specifier: string) => import(new URL(specifier, pathToFileURL(file)).href);
  run(module.exports, createRequire(file), module, file, dirname(file), importLater);
}

/**
 * Those with which Node runs such a file (nodejs.org/api/modules.html, 'The module wrapper'), and what the file calls for `import()`: Node 20
 * does not know where code that was kept would import from. (core/build/bundle-entries.mjs)
 */
const PARAMETERS = 'exports, require, module, __filename, __dirname, importLater';

type ModuleFunction = (
  exports: object,
  require: NodeJS.Require,
  module: { exports: object },
  filename: string,
  dirname: string,
  importLater: (specifier: string) => Promise<unknown>,
) => void;

function contentsOf(file: string): Buffer | null {
  try {
    return process.getBuiltinModule('node:fs').readFileSync(file);
  } catch {
    return null;
  }
}

/** In one step: V8 does not check every byte of what it is given. */
function write(file: string, contents: Uint8Array): void {
  const { renameSync, rmSync, writeFileSync } = process.getBuiltinModule('node:fs');
  const passing = `${file}.${process.pid}`;
  try {
    writeFileSync(passing, contents);
    renameSync(passing, file);
  } catch {
    rmSync(passing, { force: true }); // the package belongs to somebody else, or the disk is full
  }
}
