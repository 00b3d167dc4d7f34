/** How do several cassettes of ours run in one process beside the service? This file is that process: two channels for each (3 and 4, 5 and 6, …). */
import { host } from './host.mjs';

/** A terminal interrupts all processes in front of it: the service decides when this one ends. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1']) process.on(signal, () => {});

/** @type {string[]} */
const entries = JSON.parse(process.argv.at(-1) ?? '[]');
for (const [i, entry] of entries.entries()) host(entry, 3 + 2 * i);
