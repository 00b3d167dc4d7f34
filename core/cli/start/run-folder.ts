/** Temporary files for a harness, in a folder of the run's own that goes with it; what runs left behind that were killed is removed here. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markOf } from '../../db/client/process-mark.ts';
import { isAliveIn } from './register.ts';

const MARK = 'process.json';

export type RunFolder = { writeFile(name: string, content: string): string; remove(): void };

/** @param runId names the folder, which is made with the first file */
export function openRunFolder(svcFolder: string, runId: string): RunFolder {
  const runs = join(svcFolder, 'runs'); // 'run' is the service's, which removes it at each start (serve/cassettes.ts)
  removeStale(runs);
  const folder = join(runs, runId);
  return {
    writeFile: (name, content) => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(join(folder, MARK), JSON.stringify(markOf(process.pid)), { mode: 0o600 });
      writeFileSync(join(folder, name), content, { mode: 0o600 });
      return join(folder, name);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function removeStale(runs: string): void {
  for (const name of namesIn(runs))
    if (!isAliveIn(join(runs, name, MARK))) rmSync(join(runs, name), { recursive: true, force: true });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
