/** The start of a child process: that it fails is an error of the start, and never ends the service. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

/**
 * Settles when the process runs, before anything has been read of it and before it can be seen to end. For a system without free file
 * descriptors (EMFILE, ENFILE) Node makes no `stdio` and emits `error`, which ends the service where nothing listens.
 * @throws {Error} it does not run: Node's error, with its `code`
 */
export async function spawnChild(file: string, args: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
  const child = spawn(file, args, options);
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject); // stays, since a signal that cannot be sent later is such an event too
    child.once('spawn', resolve);
  });
  return child;
}
