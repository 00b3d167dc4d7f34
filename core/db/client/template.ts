/**
 * The template of the embedded database: a new one, migrated when svc is built, of which each installation starts with a copy, since
 * making one takes seconds. It holds no row of `svc.installation`: what is an installation's own, it receives at its first opening
 * (installation.ts). PostgreSQL's system identifier is the template's in each copy: only servers that replicate each other compare it.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliDecompress } from 'node:zlib';
import { readMigrations, type SchemaMigration } from '../migrations.ts';
import { dataFolder } from './data-folder.ts';
import { flushFolder, flushTree } from './flush.ts';

/** A file, or a folder where there is no length. */
type Entry = { path: string; bytes: number | null };

/** Counts up when a template is made otherwise. */
const FORMAT = 2;
const PACKAGES = ['@electric-sql/pglite', '@electric-sql/pglite-pgvector'];
/** Of the built package; from source there is no such folder, and no template. */
const BUILT = fileURLToPath(new URL('../template/', import.meta.url));
/** Of the compressor's window, so that it sees what the databases of one PostgreSQL have in common: half the size. */
const WINDOW_BITS = 24;
const PIECE_BYTES = 256 * 1024;

/** Changes with all that decides what a new database contains: the packages and the migrations. */
export async function templateKey(migrations?: readonly SchemaMigration[]): Promise<string> {
  const files = migrations ?? (await readMigrations());
  const hash = createHash('sha256').update(`${FORMAT}\n`);
  for (const name of PACKAGES) hash.update(`${name} ${versionOf(name)}\n`);
  for (const { name, sha256 } of files) hash.update(`${name} ${sha256}\n`);
  return hash.digest('hex').slice(0, 16);
}

export const templatePath = (folder: string, key: string) => join(folder, `${key}.br`);

/** The template for this version of the packages and migrations. Null: there is none, and a new database is migrated. */
export async function findTemplate(folder = BUILT): Promise<string | null> {
  if (!existsSync(folder)) return null;
  const path = templatePath(folder, await templateKey());
  return existsSync(path) ? path : null;
}

/** Packs a database that was closed. */
export async function packTemplate(data: string): Promise<Buffer> {
  const found = await readdir(data, { recursive: true, withFileTypes: true });
  const entries: Entry[] = [];
  const contents: Buffer[] = [];
  for (const each of found) {
    const full = join(each.parentPath, each.name);
    const bytes = each.isDirectory() ? null : readFileSync(full);
    entries.push({ path: full.slice(data.length + 1).replaceAll('\\', '/'), bytes: bytes?.length ?? null });
    if (bytes) contents.push(bytes);
  }
  const whole = Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...contents]);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: whole.length,
  };
  return promisify(brotliCompress)(whole, { params });
}

/**
 * Makes the database of `folder` a copy of the template: under another name, on the disk, then renamed, so that no interruption leaves half
 * of one. @returns whether it did; an unreadable template counts as none
 */
export async function copyTemplate(template: string, folder: string): Promise<boolean> {
  const { data, copying, making } = dataFolder(folder);
  mkdirSync(copying, { mode: 0o700 });
  try {
    await pipeline(createReadStream(template), createBrotliDecompress({ chunkSize: PIECE_BYTES }), (whole) =>
      unpack(whole, copying),
    );
  } catch {
    rmSync(copying, { recursive: true, force: true });
    return false;
  }
  await flushTree(copying);
  renameSync(copying, data);
  rmSync(making, { force: true }); // of another database, whose creation was interrupted
  await flushFolder(folder);
  return true;
}

/**
 * In the pieces that come: the whole would stay in memory for as long as nothing else needs it. Each is written synchronously, since a
 * thousand small files take three times as long otherwise; the thread has nothing else to do.
 */
async function unpack(whole: AsyncIterable<Buffer>, to: string): Promise<void> {
  const { line, bytesOf } = openPieces(whole);
  const entries = JSON.parse(await line()) as Entry[];
  for (const { path, bytes } of entries)
    if (bytes === null) mkdirSync(join(to, path), { recursive: true, mode: 0o700 });
  for (const { path, bytes } of entries) {
    if (bytes === null) continue;
    const file = openSync(join(to, path), 'wx', 0o600);
    try {
      for await (const piece of bytesOf(bytes)) writeFileSync(file, piece);
    } finally {
      closeSync(file);
    }
  }
}

/** What comes in pieces, read by lengths. @throws when it ends before */
function openPieces(whole: AsyncIterable<Buffer>) {
  const pieces = whole[Symbol.asyncIterator]();
  let piece: Buffer = Buffer.alloc(0);
  const take = async (most: number): Promise<Buffer> => {
    while (piece.length === 0) {
      const next = await pieces.next();
      if (next.done) throw new Error('Cannot read the template: it ends too early');
      piece = next.value;
    }
    const taken = piece.subarray(0, most);
    piece = piece.subarray(taken.length);
    return taken;
  };
  return {
    /** The text up to the next newline, which goes with it. */
    async line(): Promise<string> {
      const parts: Buffer[] = [];
      for (;;) {
        const part = await take(Number.POSITIVE_INFINITY);
        const end = part.indexOf('\n');
        parts.push(end < 0 ? part : part.subarray(0, end));
        if (end < 0) continue;
        piece = part.subarray(end + 1);
        return Buffer.concat(parts).toString();
      }
    },
    async *bytesOf(length: number): AsyncGenerator<Buffer> {
      for (let left = length; left > 0; ) {
        const part = await take(left);
        left -= part.length;
        yield part;
      }
    },
  };
}

/** Of the package as it is loaded here. Its `package.json` cannot be imported, since it is no export. */
function versionOf(name: string): string {
  const main = createRequire(import.meta.url).resolve(name);
  const folder = main.slice(0, main.replaceAll('\\', '/').lastIndexOf(name) + name.length);
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}
