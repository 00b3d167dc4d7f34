/** The bundle of the browser UI: `core/web/client` as hashed files in `dist/core/web/assets`, each also compressed, and a manifest that names
 *  them. Nothing is done when no source has changed. Plain JavaScript, as main.mjs is. `node core/build/bundle.mjs` makes the bundle alone. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const CLIENT = 'core/web/client';
const ICON = 'core/web/icon.svg';
const MANIFEST = 'manifest.json';
/** What decides the bundle besides the files in it. */
const CAUSES = [
  ...['bundle', 'bundle-scripts', 'cut-packages'].map((name) => `core/build/${name}.mjs`),
  'package-lock.json',
  ICON,
];

/**
 * Brings the folder `assets` up to date with the client's sources.
 * @param root the project, with its packages installed
 * @returns whether something was written
 */
export async function bundleClient({ root, assets }) {
  if (isCurrent(root, assets)) return false;
  const { bundleScripts, WORKER } = await import('./bundle-scripts.mjs');
  const { main, worker, preload, late, files, sources, styles } = await bundleScripts(root);
  const style = await bundleStyles(root, styles);
  for (const { path, contents } of style.outputFiles) files.set(nameOf(path), contents);
  const [css] = style.outputFiles;
  const add = (name, contents) => {
    const [, stem, ending] = /^(.*)(\.\w+)$/.exec(name);
    const hashed = `${stem}-${createHash('sha256').update(contents).digest('hex').slice(0, 8).toUpperCase()}${ending}`;
    files.set(hashed, contents);
    return hashed;
  };
  const manifest = {
    main,
    style: css ? nameOf(css.path) : null,
    icon: add('icon.svg', readFileSync(join(root, ICON))),
    ...{ worker, preload, late },
    licenses: add('licenses.txt', licenses(root, sources)),
    packages: [...packagesOf(sources).keys()],
    files: {},
    sources: {},
  };
  mkdirSync(assets, { recursive: true });
  for (const [name, contents] of files) manifest.files[name] = await writeCompressed(assets, name, contents);
  for (const path of [...sources, ...Object.keys(style.metafile.inputs), ...CAUSES].filter((path) =>
    existsSync(join(root, path)),
  ))
    manifest.sources[path] = stamp(join(root, path));
  manifest.sources[WORKER] ??= null; // once it is there, the bundle is another
  replace(join(assets, MANIFEST), JSON.stringify(manifest, null, 1));
  const current = new Set(Object.keys(manifest.files).flatMap((name) => [name, `${name}.br`, `${name}.gz`]));
  const isPassing = (name) => /\.\d+$/.test(name); // of a build at the same time
  for (const name of readdirSync(assets))
    if (name !== MANIFEST && !current.has(name) && !isPassing(name)) rmSync(join(assets, name), { force: true });
  return true;
}

/** A bundle is current while each of its sources has the time and length that it had. */
function isCurrent(root, assets) {
  if (!existsSync(join(assets, MANIFEST))) return false;
  const { files, sources } = JSON.parse(readFileSync(join(assets, MANIFEST), 'utf8'));
  const hasAll = Object.keys(files).every((name) =>
    ['', '.br', '.gz'].every((end) => existsSync(join(assets, name + end))),
  );
  return hasAll && Object.entries(sources).every(([path, was]) => stamp(join(root, path)) === was);
}

function stamp(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.mtimeMs} ${found.size}` : null;
}

async function bundleStyles(root, styles) {
  const { build } = await import('esbuild');
  return build({
    ...{ absWorkingDir: root, outdir: join(root, CLIENT), write: false, metafile: true, logLevel: 'silent' },
    ...{ bundle: true, minify: true, legalComments: 'none', target: 'es2022', charset: 'utf8' },
    ...styleEntry(root, styles),
  });
}

/** One sheet of all: first the two that the components' own refine. */
function styleEntry(root, styles) {
  const first = ['tokens.css', 'base.css'].map((name) => `${CLIENT}/style/${name}`);
  const rank = (path) => (first.includes(path) ? first.indexOf(path) : first.length);
  const paths = [...styles].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  if (paths.length === 0) return { entryPoints: [] };
  const contents = paths.map((path) => `@import ${JSON.stringify(`./${path}`)};`).join('\n');
  return { stdin: { contents, resolveDir: root, sourcefile: 'app.css', loader: 'css' }, entryNames: 'app-[hash]' };
}

const nameOf = (path) => path.replace(/^.*[\\/]/, '');

/** The folder of each package that has files among the inputs, by its name. */
function packagesOf(inputs) {
  const found = new Map();
  for (const path of inputs) {
    const [, folder, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(path) ?? [];
    if (name !== undefined) found.set(name, folder);
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The text with the licence of every package in the bundle. */
function licenses(root, inputs) {
  return [...packagesOf(inputs)]
    .map(([name, folder]) => {
      const { version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
      const file = readdirSync(join(root, folder)).find((each) => /^(un)?licen[cs]e|^copying/i.test(each));
      if (!file) throw new Error(`Cannot bundle ${name}: it carries no text of its licence`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(root, folder, file), 'utf8').trim()}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** Writes the file and its compressed forms; returns their lengths. */
async function writeCompressed(folder, name, contents) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length };
  const br = await promisify(brotliCompress)(contents, { params });
  const gz = await promisify(gzip)(contents, { level: 9 });
  replace(join(folder, name), contents);
  replace(join(folder, `${name}.br`), br);
  replace(join(folder, `${name}.gz`), gz);
  return { bytes: Buffer.byteLength(contents), br: br.length, gzip: gz.length };
}

/** In one step, since a service may be reading it, and another build may be writing the same. */
function replace(path, contents) {
  const passing = `${path}.${process.pid}`;
  writeFileSync(passing, contents);
  renameSync(passing, path);
}

if (process.argv[1] && createRequire(import.meta.url).resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  await bundleClient({ root, assets: join(root, 'dist/core/web/assets') });
}
