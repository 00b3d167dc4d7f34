/**
 * How does a cassette run in a process of its own? This file is that process: it loads the module, and answers what the service
 * asks over one channel (file descriptor 3) out of what the service hands it over another (4). Both speak HTTP/2, carry all
 * exchanges side by side, and close when either end goes, which ends this process. Plain JavaScript, since nothing here
 * compiles, and alone with this folder and the cassette's, since it may read nothing else.
 */
import { host } from './host.mjs';

const [entry] = process.argv.slice(2);
host(entry, 3);
