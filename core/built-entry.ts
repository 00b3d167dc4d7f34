/** Where the code of processes, threads and own cassettes is in the built package. */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The group of files that this code was bundled with. (core/build/bundle-entries.mjs, which defines it) */
declare const BUNDLE: string | undefined;

const DIST = new URL('../', import.meta.url);

/**
 * The compiled file of an entry: with all that it imports in few files where the build made these, which load sooner.
 * @param entry without its extension
 */
export function builtEntry(entry: URL): URL {
  const compiled = new URL(`${entry.href}.js`);
  return bundledFrom(compiled) ?? compiled;
}

/**
 * The module of a cassette that runs in this process: a bundled one of ours where this process is bundled with it, so that what both
 * import exists once.
 * @param file absolute
 */
export function inlineModule(file: string): URL {
  const compiled = pathToFileURL(file);
  return (typeof BUNDLE === 'string' && BUNDLE === 'service' && bundledFrom(compiled)) || compiled;
}

function bundledFrom({ href }: URL): URL | null {
  if (!href.startsWith(DIST.href)) return null;
  const bundle = new URL(`bundle/${href.slice(DIST.href.length).replaceAll('/', '.')}`, DIST);
  return existsSync(bundle) ? bundle : null;
}
