/** A folder for `svc serve` with a new embedded database in it: making one takes 7 s of a core, copying one takes one. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { templateFolder } from './databases.ts';
import { emptyFolder } from './serve.ts';

export async function folderWithDatabase(): Promise<string> {
  const folder = await emptyFolder();
  await cp(join(await templateFolder(), 'data'), join(folder, '.svc', 'data'), { recursive: true });
  return folder;
}
