/** A process that opens the embedded database in the folder of its argument, prints that it has, and stays. */
import { openDatabase } from '../../core/db/open.ts';
import { openLog } from '../../core/log.ts';

await openDatabase({ dsn: '', pooled: false, folder: process.argv[2] ?? '', log: openLog('silent') });
console.log('open');
setInterval(() => {}, 60_000);
