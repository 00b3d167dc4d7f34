/** A process that opens the embedded database in the folder of its argument, from the template of a second, prints that it has, and stays. */
import { openDatabase } from '../../core/db/open.ts';
import { openLog } from '../../core/log.ts';

const [folder = '', template = null] = process.argv.slice(2);
await openDatabase({ dsn: '', pooled: false, folder, log: openLog('silent'), template });
console.log('open');
setInterval(() => {}, 60_000);
