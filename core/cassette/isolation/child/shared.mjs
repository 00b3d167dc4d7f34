/** The entry point of the process that several built-in cassettes share beside the service: two channels for each (3 and 4, 5 and 6, …). */
import { host } from './host.mjs';

/** A terminal signals its whole foreground group; ignored, since the service decides when this process ends. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1']) process.on(signal, () => {});

/** @type {string[]} */
const entries = JSON.parse(process.argv.at(-1) ?? '[]');
for (const [i, entry] of entries.entries()) host(entry, 3 + 2 * i);
