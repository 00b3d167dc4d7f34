/** A process that locks the folder of its argument, prints the outcome, and stays until its stdin ends. */
import { lockFolder } from '../../core/db/client/folder-lock.ts';

const word = await lockFolder(process.argv[2] ?? '').then(
  () => 'locked',
  () => 'refused',
);
console.log(word);
process.stdin.resume();
