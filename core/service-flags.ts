/**
 * V8's flags for the processes of `svc serve`. They belong on the command line: V8's flags are those of the whole process, all of its threads
 * read them without a lock, and Node promises nothing (not even against crashes) where they change after the start.
 */
import { availableParallelism } from 'node:os';

/** `gc`, in every thread: what large values leave behind is collected early. Without it the service works, and takes more memory. */
const COLLECTOR = '--expose-gc';

/**
 * V8 collects when a thread's heap has grown by this many percent of what was live at the last collection. By itself it lets a busy thread's
 * heap grow to four times of that: deriving a transcript of 80 MB, of which 160 MB are live at a time, took 1,100 MiB, and takes 740 with this.
 * (50: 590 MiB, for a twentieth of the time.)
 */
const GROWTH = '--heap-growing-percent=100';

/**
 * V8's own threads, which compile and collect for all of a process's: on Node 20, beside the one that works, no more than there are other
 * processors. Node starts four whatever the machine is, and where there are two they take the work's time: with one the APIs of a database
 * that exists answer after 690 ms and not after 890, the first transcripts are derived 14 % faster, and an idle service takes 20 MiB less.
 * Of later versions the collector depends more on these threads: with fewer of them the heap of a busy thread grows by a third more.
 */
const POOL =
  Number.parseInt(process.versions.node, 10) < 22
    ? [`--v8-pool-size=${Math.min(Math.max(availableParallelism() - 1, 1), 4)}`]
    : [];

/** For a process with the engine, the APIs or the embedded database. */
export const SERVICE_FLAGS: readonly string[] = [COLLECTOR, GROWTH, ...POOL];

/**
 * For a process that only passes calls: its young generation stays at 8 MB. It would grow to 32, or 64 on Node 24, without a benefit for a proxy.
 * With one thread in V8's pool it passes as many calls, and takes as much memory.
 */
export const PROXY_FLAGS: readonly string[] = [COLLECTOR, '--max-semi-space-size=4']; // in MB; there are two such spaces

/**
 * glibc's allocator gives free memory back from this many bytes on, where otherwise that bound grows with what was once freed and keeps some
 * 70 MB of an idle service; other C libraries know no such setting. What each thread keeps beyond (`TOP_PAD`) spares it to give back and to
 * request again with each body that it compresses, which took a tenth of the rate of intake; a megabyte would be no faster. It still costs
 * a tenth, so it is for a service with the embedded database, on somebody's own machine. (mallopt(3); whoever sets a variable decides.)
 */
export const ALLOCATOR: Readonly<Record<string, string>> = {
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_TOP_PAD_: '524288',
};
