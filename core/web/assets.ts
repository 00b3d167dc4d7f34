/** The files of the browser UI, as the bundler wrote them: each under a name that changes with its content, and compressed beforehand. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';

/** What the bundler wrote, and what the document has to name. (core/build/bundle.mjs) */
export type AssetManifest = {
  main: string;
  style: string | null;
  icon: string;
  /** The chunks that `main` imports. */
  preload: readonly string[];
  /** The chunks of each part that is loaded later, by its source below `client/`. */
  late: Readonly<Record<string, readonly string[]>>;
  licenses: string;
  files: Readonly<Record<string, { bytes: number; br: number; gzip: number }>>;
};

export type Assets = {
  /** null: the UI was never built. Another build is seen at once. */
  manifest(): Promise<AssetManifest | null>;
  /** null: the current build has no such file. */
  read(name: string, coding: Coding | null): Promise<Uint8Array<ArrayBuffer> | null>;
};

type Coding = 'br' | 'gzip';
const ENDING: Record<Coding, string> = { br: '.br', gzip: '.gz' };

/** Where the bundler writes, for a service from source too. */
export const builtAssets = (): string => join(packageRoot(), 'dist/core/web/assets');

/** @param folder what the bundler wrote */
export function openAssets(folder: string): Assets {
  const file = join(folder, 'manifest.json');
  let current: { manifest: AssetManifest; mtimeMs: number } | null = null;
  const manifest = async () => {
    const mtimeMs = await stat(file).then(
      (found) => found.mtimeMs,
      () => null,
    );
    if (mtimeMs === null) return null;
    if (current?.mtimeMs !== mtimeMs)
      current = { manifest: JSON.parse(await readFile(file, 'utf8')) as AssetManifest, mtimeMs };
    return current.manifest;
  };
  return {
    manifest,
    read: async (name, coding) => {
      const files = (await manifest())?.files ?? {};
      if (!Object.hasOwn(files, name)) return null; // also whatever would lead out of the folder
      return new Uint8Array(await readFile(join(folder, `${name}${coding ? ENDING[coding] : ''}`)));
    },
  };
}
