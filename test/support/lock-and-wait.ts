/** A process that locks the folder of its first argument, beside the leader of the second, prints the outcome, and stays until its stdin ends. */
import { joinLock, lockFolder } from '../../core/db/client/folder-lock.ts';

const [folder = '', leader = ''] = process.argv.slice(2);
const word = await (leader === '' ? lockFolder(folder) : joinLock(folder, Number(leader))).then(
  () => 'locked',
  () => 'refused',
);
console.log(word);
process.stdin.resume();
