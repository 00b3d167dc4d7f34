/** Which files below a folder hold a text, by their names there. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const filesHolding = (folder: string, text: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => contentOf(file).includes(text))
    .map((file) => file.slice(folder.length + 1));

/** Empty where the file has gone meanwhile: a service that has the database open goes on writing it. */
function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
