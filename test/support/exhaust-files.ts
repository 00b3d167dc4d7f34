/** Takes the file descriptors of this process: what opens a file, a socket or a process then fails with EMFILE. */
import { closeSync, openSync } from 'node:fs';

/** @param left how many more the process may open @returns gives them back */
export function exhaustFiles(left = 0): () => void {
  const files: number[] = [];
  try {
    for (;;) files.push(openSync('/dev/null', 'r'));
  } catch {
    for (const file of files.splice(0, left)) closeSync(file);
    return () => files.forEach(closeSync);
  }
}
